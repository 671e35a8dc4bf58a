-- What a submission was answered, so that it is answered the same when it comes again after an edit has changed the sweep.
ALTER TABLE sweep ADD COLUMN trials_told INTEGER; -- Trials that the submission was told of; NULL: it was before this was kept, and those of the sweep are told.
