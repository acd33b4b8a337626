"""How far the cost model's choices are from the best that was measured.

`problems.py` lists operators, `points.py` measures the likeliest schedules of each on a device and
keeps the times, `judge.py` says on any machine what today's choice takes of them. A change of the
cost model has to leave no problem much worse, and the mean no worse.
"""
