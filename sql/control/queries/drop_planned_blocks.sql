-- Forget the plan of a topic beyond what was begun: its horizon went back, or a person moved the cursor.
delete from dwh.block where topic_id = %(topic_id)s and status = 'planned'
