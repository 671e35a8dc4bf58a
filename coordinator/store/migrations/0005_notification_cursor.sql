-- Up to which event hooks have been notified (notify/notifier.h).
CREATE TABLE notification_cursor (
  sweep INTEGER PRIMARY KEY,                           -- Failures of the sweep after the event are not notified yet; 0: all other events.
  event INTEGER NOT NULL                               -- Its number.
) STRICT;
-- Failures that an earlier version gathered are sent.
UPDATE notification SET state = 'WAITING' WHERE state = 'GATHERING';
