/**
 * Compares clocks with PostgreSQL's: that of this machine, and those of the machines on which the processes run, as
 * they measured them themselves.
 */
import { readMetrics } from '#src/metrics/metric-exchange.ts'
import { describeSkew } from '#src/stores/server-clock.ts'
import { type CheckContext, type DoctorFinding, failed, ok, skipped, warning } from './check.ts'
import { withRedis } from './redis.ts'
import { withDb } from './stores.ts'
import { countText } from '#src/platform/plural.ts'

const WARNING_MS = 1000
const TODO = 'synchronise the clocks of both machines with NTP'

export const CLOCK = withDb('clock', async (db, { config }) => {
  await db.measureClock()
  const skewMs = db.clock.skewMs() ?? 0
  return Math.abs(skewMs) < WARNING_MS
    ? ok(`PostgreSQL is ${Math.abs(skewMs)} ms ${skewMs > 0 ? 'behind' : 'ahead'}`)
    : resultFor(describeSkew(skewMs), skewMs, config)
})

/** Of processes on other machines too. */
export const PROCESS_CLOCKS = withRedis(
  'process clocks',
  () => skipped('Redis is away'),
  async (redis, { db, config }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const skews = (await readMetrics({ redis, clock: db.clock })).flatMap(({ owner, snapshot }) => {
      const seconds = snapshot.mailstead_clock_skew_seconds?.[0]
      return owner === null || seconds === undefined || !('value' in seconds)
        ? []
        : [{ process: `${owner.role} on ${owner.node}`, skewMs: 1000 * seconds.value }]
    })
    const wrong = skews.filter(({ skewMs }) => Math.abs(skewMs) >= WARNING_MS)
    if (wrong.length === 0) return ok(`${countText(skews.length, 'process agrees', 'processes agree')} with PostgreSQL`)
    const text = wrong.map(({ process, skewMs }) => `${process}: ${describeSkew(skewMs)}`).join('; ')
    return resultFor(text, Math.max(...wrong.map(({ skewMs }) => Math.abs(skewMs))), config)
  },
)

function resultFor(text: string, skewMs: number, { maxClockSkewSeconds }: CheckContext['config']): DoctorFinding {
  if (Math.abs(skewMs) <= maxClockSkewSeconds * 1000) return warning(text, TODO)
  return failed(`${text}; processes there accept and claim no mail`, TODO)
}
