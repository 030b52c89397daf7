"""What people read after grading: a page a student, a page and a table of the class, marks as CSV.

Everything is made from verdicts. No student's HTML, no executed notebook and no hidden source goes in.
"""
