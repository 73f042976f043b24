"""`bench-submit doctor --sensor`: loads a board in pulses and examines what its power sensor and
its energy counter report of them."""
