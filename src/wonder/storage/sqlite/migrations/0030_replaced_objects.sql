-- Which objects of its output a branch has written as a whole. NULL: none.
ALTER TABLE run_branches ADD COLUMN replaced TEXT;
