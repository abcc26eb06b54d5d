-- The history of a business object, over all executions that touched it. Few events speak of one, and only those are in the index.
CREATE INDEX event_business_object ON noetl.event
  ((meta #>> '{business_object,object_type}'), (meta #>> '{business_object,object_id}'), event_id)
  WHERE meta ? 'business_object';
