-- The points that a sampler asked for (sampling.optuna), in order: the log of its study. Append-only.
CREATE TABLE search_point (
  id INTEGER PRIMARY KEY,                              -- In the order of the questions.
  sweep INTEGER NOT NULL REFERENCES sweep(id),         -- Its sweep.
  number INTEGER NOT NULL CHECK (number >= 0),         -- In the sweep, from 0; its trials are the points number * n to number * n + n - 1 of the grid, for n points of the axes with `each`.
  point_values TEXT NOT NULL CHECK (json_valid(point_values)),  -- Axis name -> number or label, JSON.
  told TEXT NOT NULL CHECK (json_valid(told)),         -- Points whose results the sampler was told after it asked for the point before, JSON.
  at_ms INTEGER NOT NULL,                              -- When.
  UNIQUE (sweep, number)
) STRICT;

-- Points are append-only.
CREATE TRIGGER search_point_is_kept BEFORE UPDATE ON search_point
BEGIN
  SELECT RAISE(ROLLBACK, 'search_point: rows never change');
END;
CREATE TRIGGER search_point_stays BEFORE DELETE ON search_point
BEGIN
  SELECT RAISE(ROLLBACK, 'search_point: rows are never deleted');
END;
