"""Pure metrics: arrays and weights in, arrays out."""
