"""What happens between a camera and a caption: buffer, gate, smoothing, as pure steps."""
