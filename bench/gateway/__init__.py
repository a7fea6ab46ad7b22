"""The gateway under load, beside other gateways: see __main__."""
