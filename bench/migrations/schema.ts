/** The schema of a database as text, to compare it before and after a migration was undone and applied again. */
import { sql } from '#src/stores/sql.ts'

interface Queryable {
  query<R extends object>(statement: string): Promise<{ rows: R[] }>
}

/** Columns without their position, which changes when one is dropped; of partitioned tables only the table itself. */
const SCHEMA = sql`
  SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
    || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
    || ' ' || a.attstorage::text || coalesce(' ' || o.collname, '') AS line
  FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  LEFT JOIN pg_collation o ON o.oid = a.attcollation
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT 'constraint ' || t.relname || ' ' || k.conname || ' ' || pg_get_constraintdef(k.oid)
    || CASE WHEN k.convalidated THEN '' ELSE ' not valid' END
  FROM pg_constraint k
  JOIN pg_class t ON t.oid = k.conrelid
  WHERE t.relnamespace = 'public'::regnamespace AND NOT t.relispartition AND k.contype <> 'n'
  UNION ALL
  SELECT 'index ' || pg_get_indexdef(i.indexrelid) || CASE WHEN i.indisvalid THEN '' ELSE ' invalid' END
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition
  UNION ALL
  SELECT 'trigger ' || pg_get_triggerdef(t.oid)
  FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
  WHERE NOT t.tgisinternal AND NOT c.relispartition
  UNION ALL
  SELECT 'function ' || p.oid::regprocedure || ' ' || md5(pg_get_functiondef(p.oid))
  FROM pg_proc p
  WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f'
  UNION ALL
  SELECT 'options ' || c.relname || ' ' || c.reloptions::text
  FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.reloptions IS NOT NULL
  ORDER BY 1
`

export async function readSchema(client: Queryable): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(SCHEMA)
  return rows.map(({ line }) => line).filter((line) => !/^\w+ (CREATE (UNIQUE )?INDEX )?migration/.test(line))
}
