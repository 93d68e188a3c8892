/**
 * The operator's TLS rules for single recipient domains: `required` means TLS or no delivery; `opportunistic` ignores
 * what the domain publishes (a workaround if that is broken). Every process applies a change within seconds.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'

export const TLS_LEVELS = ['required', 'opportunistic'] as const
export type TlsLevelRule = (typeof TLS_LEVELS)[number]

export interface TlsRule {
  readonly domain: string
  readonly level: TlsLevelRule
}

const POLL_MS = 5000

export async function listTlsRules(db: Queryable): Promise<TlsRule[]> {
  return (await db.query<TlsRule>('SELECT domain, level FROM tls_rules ORDER BY domain')).rows
}

/** `domain` in lower-case A-labels. */
export async function setTlsRule(db: Queryable, { domain, level }: TlsRule): Promise<void> {
  const text =
    'INSERT INTO tls_rules (domain, level) VALUES ($1, $2) ON CONFLICT (domain) DO UPDATE SET level = excluded.level'
  await db.query(text, [domain, level])
}

/** False if there was no rule. */
export async function removeTlsRule(db: Queryable, domain: string): Promise<boolean> {
  return (await db.query('DELETE FROM tls_rules WHERE domain = $1', [domain])).rowCount === 1
}

export interface TlsRuleWatch {
  /**
   * Undefined without a rule. Waits until the rules have been loaded once. Rejects if PostgreSQL is unavailable then.
   */
  find(domain: string): Promise<TlsLevelRule | undefined>
  stop(): void
}

/** Nothing is sent before the rules are loaded: `required` must hold from the first message of a process. */
export function watchTlsRules({ db, log }: Pick<Context, 'db' | 'log'>): TlsRuleWatch {
  let rules: ReadonlyMap<string, TlsLevelRule> | null = null
  async function load(): Promise<ReadonlyMap<string, TlsLevelRule>> {
    rules = new Map((await listTlsRules(db)).map(({ domain, level }) => [domain, level]))
    return rules
  }
  const refresh = (): void =>
    void load().catch((error: unknown) => log.debug({ err: error }, 'failed to read the TLS rules'))
  refresh()
  const timer = setInterval(refresh, POLL_MS)
  return {
    find: async (domain) => (rules ?? (await load())).get(domain),
    stop: () => clearInterval(timer),
  }
}
