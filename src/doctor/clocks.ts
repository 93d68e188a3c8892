/**
 * Compares clocks with PostgreSQL's: that of this machine, and those of the machines on which the processes run, as
 * they measured them themselves.
 */
import { readMetrics } from '#src/metrics/metric-exchange.ts'
import { skewParts } from '#src/stores/server-clock.ts'
import { type CheckContext, type DoctorFinding, failed, ok, skipped, warning } from './check.ts'
import { withRedis } from './redis.ts'
import { withDb } from './stores.ts'
import type { CodedText } from '#src/platform/coded-text.ts'
import { type FindingText, joinSaid, sayAbout } from '#src/platform/finding-text.ts'
import { doctorText } from './finding-texts.ts'

const WARNING_MS = 1000

export const CLOCK = withDb('clock', async (db, { config }) => {
  await db.measureClock()
  const skewMs = db.clock.skewMs() ?? 0
  return Math.abs(skewMs) < WARNING_MS
    ? ok(doctorText(skewMs > 0 ? 'clock_behind' : 'clock_ahead', { ms: Math.abs(skewMs) }))
    : resultFor(describeSkew(skewMs), skewMs, config)
})

/** Of processes on other machines too. */
export const PROCESS_CLOCKS = withRedis(
  'process clocks',
  () => skipped(doctorText('redis_away')),
  async ({ redis }, { db, config }) => {
    if (db === null) return skipped(doctorText('postgres_away'))
    const skews = (await readMetrics({ redis, clock: db.clock })).flatMap(({ owner, snapshot }) => {
      const seconds = snapshot.mailstead_clock_skew_seconds?.[0]
      return owner === null || seconds === undefined || !('value' in seconds)
        ? []
        : [{ process: `${owner.role} on ${owner.node}`, skewMs: 1000 * seconds.value }]
    })
    const wrong = skews.filter(({ skewMs }) => Math.abs(skewMs) >= WARNING_MS)
    if (wrong.length === 0) return ok(doctorText('clocks_agree', { count: skews.length }))
    const text = joinSaid(wrong.map(({ process, skewMs }) => sayAbout(process, describeSkew(skewMs))))
    return resultFor(text, Math.max(...wrong.map(({ skewMs }) => Math.abs(skewMs))), config)
  },
)

function describeSkew(skewMs: number): CodedText {
  const { amount, unit, isBehind } = skewParts(skewMs)
  if (unit === 'days') return doctorText(isBehind ? 'skew_days_behind' : 'skew_days_ahead', { amount })
  return doctorText(isBehind ? 'skew_behind' : 'skew_ahead', { amount, unit })
}

function resultFor(
  text: CodedText | FindingText,
  skewMs: number,
  { maxClockSkewSeconds }: CheckContext['config'],
): DoctorFinding {
  if (Math.abs(skewMs) <= maxClockSkewSeconds * 1000) return warning(text, doctorText('clock_todo'))
  return failed(joinSaid([text, doctorText('clock_refused')]), doctorText('clock_todo'))
}
