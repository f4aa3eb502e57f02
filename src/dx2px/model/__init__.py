"""The paper on the paper's terms: attention, transport, network and objective; arrays in, arrays out."""
