/**
 * Keeps a process from becoming a sandbox by accident: it would deliver the mail of a live installation to the built-in
 * receiver. The database has the mode with which it was last used; a process that is a sandbox only because MODE is not
 * set refuses to start on the database of a live installation. MODE=sandbox is an order, and changes the mode.
 *
 * Releases before MODE went live with a public HOSTNAME. Their databases have messages and no mode: there the start
 * names the settings that replace HOSTNAME. A test network (DNS_SERVERS or ROUTES without MODE) has no mode.
 *
 * While PostgreSQL is away, hangs or is not migrated, the mode is not known. The process starts, as it does without the
 * other checks, and nothing in it sends until the mode is known: the check is repeated. A refusal then ends the
 * process.
 */
import { type Config, ConfigError } from '#config/load.ts'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'
import { isDatabaseAway, isUnmigrated, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Log } from '#src/platform/log.ts'

type ModeSettings = Pick<Config, 'mode' | 'isLive' | 'isSandbox' | 'ignoredHostname'>

const STORE = sql`
  INSERT INTO installation_mode AS i (mode)
  VALUES ($1)
  ON CONFLICT (is_only) DO UPDATE SET mode = excluded.mode
  WHERE i.mode <> excluded.mode
`

/** A PostgreSQL that hangs delays a start by this. */
const WAIT_MS = 2000
const RETRIES = { firstMs: 500, longestMs: 2000 }
const NOT_CHECKED = 'MODE was not checked yet: PostgreSQL is away or not migrated'

interface ModeContext {
  readonly db: Queryable
  readonly config: ModeSettings
  readonly log: Log
}

export interface ModeAgreement {
  /** While this is false, nothing may be sent. */
  readonly isAgreed: boolean
  /** One attempt; callers at the same time share it. @throws as `agreeOnMode`. */
  agree(): Promise<void>
}

/** Starts the check. Returns after it, or earlier while PostgreSQL cannot answer. @throws ConfigError for a refusal. */
export async function agreeOnModeSoon(ctx: ModeContext): Promise<ModeAgreement> {
  const agreement = createAgreement(ctx)
  const late = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => late.resolve('late'), WAIT_MS)
  try {
    if ((await Promise.race([agreement.agree(), late.promise])) === 'late')
      ctx.log.warn('MODE was not checked yet: PostgreSQL does not answer')
  } catch (error) {
    if (!isPassing(error)) throw error
    ctx.log.warn({ err: error }, NOT_CHECKED)
  } finally {
    clearTimeout(timer)
  }
  return agreement
}

function createAgreement(ctx: ModeContext): ModeAgreement {
  let isAgreed = false
  let attempt: Promise<void> | null = null
  const check = async (): Promise<void> => {
    await agreeOnMode(ctx)
    isAgreed = true
  }
  return {
    get isAgreed() {
      return isAgreed
    },
    agree: () => {
      if (isAgreed) return Promise.resolve()
      return (attempt ??= check().finally(() => {
        attempt = null
      }))
    },
  }
}

/**
 * Repeats the check until the mode is known, then calls `onAgreed`; at once if it is known. A refusal ends the process:
 * its supervisor starts it again, and shows the reason. Returns how to end the repetition.
 */
export function watchMode(agreement: ModeAgreement, log: Log, onAgreed: () => void = () => undefined): () => void {
  const backoff = createFailureBackoff(log, { message: NOT_CHECKED, ...RETRIES })
  let timer: NodeJS.Timeout | undefined
  let isEnded = false
  const attempt = async (): Promise<void> => {
    try {
      await agreement.agree()
      if (!isEnded) onAgreed()
    } catch (error) {
      if (isEnded) return
      if (isPassing(error)) timer = setTimeout(() => void attempt(), backoff.failed(error))
      else
        setImmediate(() => {
          throw error
        })
    }
  }
  if (agreement.isAgreed) onAgreed()
  else void attempt()
  return () => {
    isEnded = true
    clearTimeout(timer)
  }
}

/**
 * Compares this process with the database, and stores the mode.
 * @throws ConfigError if the installation is live, and MODE is not set; another error while PostgreSQL cannot answer.
 */
export async function agreeOnMode({ db, config }: Omit<ModeContext, 'log'>): Promise<void> {
  if (!config.isLive && !config.isSandbox) return
  if (config.mode === null) await refuseAccident(db, config)
  await db.query(STORE, [config.isLive ? 'live' : 'sandbox'])
}

function isPassing(error: unknown): boolean {
  return isDatabaseAway(error) || isUnmigrated(error)
}

async function refuseAccident(db: Queryable, { ignoredHostname }: ModeSettings): Promise<void> {
  const { rows } = await db.query<{ mode: string }>('SELECT mode FROM installation_mode')
  const mode = rows[0]?.mode ?? null
  if (mode === 'live')
    throw new ConfigError(`This installation is live, but MODE is not set. ${choicesText(ignoredHostname)}`)
  if (mode !== null || ignoredHostname === null || !(await hasMessages(db))) return
  throw new ConfigError(
    `Earlier releases went live with HOSTNAME=${ignoredHostname}, which is not read any more. ` +
      choicesText(ignoredHostname),
  )
}

function choicesText(name: string | null): string {
  const known = name ?? '<the public name of this server>'
  return (
    `To send mail to the internet, set MODE=live and MAILSTEAD_HOSTNAME=${known}. ` +
    'To deliver all of its mail to the built-in receiver, set MODE=sandbox. (docs/guides/going-live.md)'
  )
}

async function hasMessages(db: Queryable): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM messages LIMIT 1')
  return rows.length > 0
}
