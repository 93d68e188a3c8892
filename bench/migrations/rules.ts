/**
 * What a migration may do while the previous version runs. A migration expands: the previous version reads and writes
 * the schema as before. What it may not do belongs into a contract migration (`074-contract-name.ts`), which waits
 * until no process of that version runs. blocking.test.ts checks how long a migration locks; this one what it changes.
 */

interface Rule {
  readonly pattern: RegExp
  /** The same in an expand migration, or where else it belongs. */
  readonly instead: string
}

/** Statements that only a contract migration may have. */
const CONTRACTS: readonly Rule[] = [
  { pattern: /\bDROP TABLE\b/i, instead: 'drop a table in a contract migration' },
  {
    pattern: /\bDROP (COLUMN )?(?!CONSTRAINT|DEFAULT|NOT NULL|EXPRESSION|IDENTITY|INDEX|TRIGGER|FUNCTION)\w+/i,
    instead: 'drop a column in a contract migration',
  },
  {
    pattern: /\bRENAME (COLUMN|TO)\b/i,
    instead: 'add the new name, write both, and drop the old one in a contract migration',
  },
  {
    pattern: /\bALTER (COLUMN )?\w+ (SET DATA )?TYPE\b/i,
    instead: 'add a column of the new type, and drop the old one in a contract migration',
  },
  { pattern: /\bSET NOT NULL\b/i, instead: 'the previous version may write null: do it in a contract migration' },
]

/** Statements that no migration may have, since they lock a table for as long as they read it. */
const LOCKS: readonly Rule[] = [
  { pattern: /\b(VACUUM FULL|CLUSTER|REINDEX (?!.*CONCURRENTLY)|LOCK TABLE)\b/i, instead: 'these lock the table' },
  { pattern: /\bTRUNCATE\b/i, instead: 'delete in batches' },
]

/** What is wrong with the SQL of a migration, as sentences. */
export function findViolations(sql: string, isContract: boolean): string[] {
  const statements = sql
    .replaceAll(/\$body\$.*?\$body\$/gs, '')
    .replaceAll(/--.*$/gm, '')
    .split(';')
  const rules = isContract ? LOCKS : [...LOCKS, ...CONTRACTS]
  return statements.flatMap((statement) =>
    rules
      .filter(
        ({ pattern }) => pattern.test(statement) && !/^\s*(DROP|ALTER) (INDEX|TRIGGER|FUNCTION)\b/i.test(statement),
      )
      .map(({ instead }) => `${statement.trim().split('\n')[0]}: ${instead}`),
  )
}
