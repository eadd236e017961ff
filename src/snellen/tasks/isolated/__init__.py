"""Which sign is this clip?"""
