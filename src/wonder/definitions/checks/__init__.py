"""Every check at creation: what is wrong with a bundle, all at once, before anything of it is stored."""
