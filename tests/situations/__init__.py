"""Situations that tests need and users reach only by waiting, by thousands of debates, or by damage.

One file per noun; each function is a verb. This is the only SQL of the tests that changes what the product stores. A
test that can reach its situation through the product does so instead.
"""
