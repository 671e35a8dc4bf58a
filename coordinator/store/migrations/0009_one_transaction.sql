-- A broken rule ends the whole transaction, as the one writer ends it anyway, and what rows say of other rows is looked at when it is
-- committed. So SQLite need not be able to take back one statement alone: for that it copied each page that the statement touched.
-- Nothing in the file changes but these words.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'RAISE(ABORT', 'RAISE(ROLLBACK') WHERE type = 'trigger';
UPDATE sqlite_schema
  SET sql = replace(replace(replace(sql,
    'REFERENCES sweep(id)', 'REFERENCES sweep(id) DEFERRABLE INITIALLY DEFERRED'),
    'REFERENCES stage(id)', 'REFERENCES stage(id) DEFERRABLE INITIALLY DEFERRED'),
    'REFERENCES attempt(token)', 'REFERENCES attempt(token) DEFERRABLE INITIALLY DEFERRED')
  WHERE type = 'table' AND name IN ('stage', 'trial', 'attempt');
PRAGMA writable_schema = RESET;
