ALTER TABLE sweep_usage ADD COLUMN log_lines INTEGER NOT NULL DEFAULT 0; -- Lines of logs that were kept of the attempts charged to it, for limits.log_lines; 0 for attempts from before.
