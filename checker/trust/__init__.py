"""Trust: signatures, keyring, signed records, waivers and the acceptance log."""
