-- compatible from: 1
-- Where in a trace the event was made, for its deliveries to go on from: `traceparent`, and `tracestate` behind a space
-- (W3C Trace Context). Only while traces are collected.
ALTER TABLE events ADD COLUMN trace text;
