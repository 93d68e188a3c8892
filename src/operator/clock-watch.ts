/**
 * Compares the clock of this machine with PostgreSQL's once per second, and reports a difference: in the log, as a
 * notice, and by `mailstead_clock_skew_seconds`. Ages and due times use PostgreSQL's clock and do not suffer, but the
 * machine's own clock still decides whether a certificate is valid. Beyond MAX_CLOCK_SKEW_SECONDS either of the two may
 * be the wrong one, so the processes of the machine accept and claim no mail (`clockProblem`).
 *
 * PostgreSQL away: the last measurement counts. A process that dies leaves its notice to the operator.
 */
import { hostname } from 'node:os'
import type { Context } from '#src/context.ts'
import { clockProblem, describeSkew } from '#src/stores/server-clock.ts'
import { raiseNotices } from './notices.ts'

const INTERVAL_MS = 1000
/** Machines that synchronise their clocks differ by milliseconds. */
const REPORTED_MS = 10_000

/** `wrong`: beyond the bound. */
type Agreement = 'good' | 'poor' | 'wrong'

export interface ClockWatch {
  stop(): void
}

export function startClockWatch(ctx: Pick<Context, 'db' | 'config' | 'log'>, role: string): ClockWatch {
  let reported: Agreement = 'good'
  let isMeasuring = false

  async function check(): Promise<void> {
    await ctx.db.measureClock()
    const agreement = agreementOf(ctx)
    if (agreement === reported) return
    await report(ctx, role, agreement)
    reported = agreement
  }

  const checkQuietly = async (): Promise<void> => {
    if (isMeasuring) return
    isMeasuring = true
    await check().catch((error: unknown) =>
      ctx.log.debug({ err: error }, "failed to compare the clock with PostgreSQL's; it is repeated"),
    )
    isMeasuring = false
  }
  const timer = setInterval(() => void checkQuietly(), INTERVAL_MS)
  void checkQuietly()
  return { stop: () => clearInterval(timer) }
}

function agreementOf({ db, config }: Pick<Context, 'db' | 'config'>): Agreement {
  if (clockProblem(db.clock, config.maxClockSkewSeconds) !== null) return 'wrong'
  return Math.abs(db.clock.skewMs() ?? 0) > REPORTED_MS ? 'poor' : 'good'
}

const CONSEQUENCES = {
  poor: 'Mail is sent, but certificates may be refused.',
  wrong: 'Its processes accept and claim no mail.',
} as const

async function report({ db, log }: Pick<Context, 'db' | 'log'>, role: string, agreement: Agreement): Promise<void> {
  const skewMs = db.clock.skewMs() ?? 0
  if (agreement === 'good') return log.info({ skewMs }, "the clock of this machine agrees with PostgreSQL's again")
  const text = `${describeSkew(skewMs)}. ${CONSEQUENCES[agreement]} Synchronise the clocks of both machines with NTP.`
  log[agreement === 'wrong' ? 'error' : 'warn']({ skewMs }, text)
  const notice = { kind: 'clock-skew', subject: `${role} on ${hostname()}`, text, count: 1 } as const
  await raiseNotices(db, 'stands', [{ ...notice, at: new Date(db.clock.now()) }])
}
