"""Reading results: what a magnitude means, and whether it is more than chance.
"""
