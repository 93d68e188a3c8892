/**
 * The inbound role: takes bounces, complaints, reports on TLS and letters that unsubscribe at the inbound port and applies them. Taking and
 * applying are apart: 250 means that the report is stored, and what is stored is applied by whichever inbound process comes to it, after a
 * crash too. Only unsubscribing is done at once.
 */
import { createAlarm, type Alarm } from '#src/concurrency/debounced-runner.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { createAttempts } from '#src/rate-limits/attempt-limits.ts'
import { isWorthRepeating } from '#src/messages/transition.ts'
import { createRegistry, type Registry } from '#src/metrics/registry.ts'
import { createTokens } from '#src/tracking/tokens.ts'
import { loadServerCertificate, watchServerCertificate } from '#mta/smtp-server/server-certificate.ts'
import { Reply } from '#mta/smtp-server/reply.ts'
import { applyDue } from './report-processor.ts'
import { createLetterBox } from './postmaster-mailbox.ts'
import { type Incoming, startListener } from './listener.ts'
import { createReader } from './reader.ts'
import { createRecentRaws } from './recent-report-bytes.ts'
import { type Arrived, createTaking } from './report-store.ts'
import { findToken } from './recipient-policy.ts'
import { createTlsReportReader, readTlsReports, takeByMail } from './tls-reports.ts'
import { takeUnsubscribe } from './unsubscribe-mail.ts'

export interface Inbound {
  readonly port: number
  stop(): Promise<void>
}

/** What another process left behind, or what waits, is looked for so often. */
const LOOK_MS = 2000
const RETRY_MS = 500

/** @throws ConfigError when the port cannot be had. */
export async function startInbound(ctx: Context, registry: Registry = createRegistry()): Promise<Inbound> {
  const mac = (data: Buffer): Buffer => ctx.vault.mac('return-path', data)
  const tokens = createTokens(ctx.vault)
  const certificate = await loadServerCertificate(ctx)
  const reader = createReader()
  const recent = createRecentRaws()
  const count = (kind: string, result: string): void => registry.add('mailstead_inbound_reports_total', [kind, result])
  const applying = startApplying(ctx, () => applyDue(ctx, { reader, recent, count }))
  const tlsReader = createTlsReportReader(ctx.config)
  const tlsReading = startApplying(ctx, () => readTlsReports(ctx, tlsReader, registry))
  const attempts = createAttempts(ctx.redis, ctx.clock)
  const taking = createTaking(ctx, recent, () => applying.set(0))
  const letters = createLetterBox(() => ctx.clock.now())
  const recipientOf = ({ target, raw }: Incoming): Arrived['recipient'] => {
    if (target.kind === 'return-path') return target
    return target.kind === 'complaint' ? findToken(raw, mac) : null
  }
  const takeTlsReport = async (incoming: Incoming): Promise<void> => {
    await takeByMail(ctx, attempts, incoming)
    tlsReading.set(0)
  }
  const takeReport = async (incoming: Incoming): Promise<void> => {
    const recipient = recipientOf(incoming)
    if (recipient === null && !letters.mayTake()) throw new Reply(452, '4.3.1 Too many letters, come again later')
    await taking.add({ ...incoming, recipient })
  }
  const takeOne = (incoming: Incoming): Promise<void> => {
    const { target } = incoming
    if (target.kind === 'unsubscribe') return takeUnsubscribe(ctx, { attempts, tokens }, target.ref, incoming)
    return target.kind === 'tls-report' ? takeTlsReport(incoming) : takeReport(incoming)
  }
  const take = async (incoming: Incoming): Promise<void> => {
    await takeOne(incoming)
    registry.add('mailstead_inbound_letters_total', [incoming.target.kind])
  }
  const listener = await startListener({ ctx, mac, tokens, certificate, take }).catch(async (error: unknown) => {
    await Promise.all([applying.stop(), tlsReading.stop()])
    throw error
  })
  const renewing = watchServerCertificate(ctx, certificate, (renewed) => listener.show(renewed))
  return {
    port: listener.port,
    stop: async () => {
      renewing.stop()
      await listener.stop()
      await taking.drain()
      await Promise.all([applying.stop(), tlsReading.stop()])
      await Promise.all([reader.stop(), tlsReader.stop()])
    },
  }
}

/** One round at a time, at once when something was stored. A round that fails is done again. */
function startApplying(ctx: Context, round: () => Promise<boolean>): Alarm {
  const alarm = createAlarm(async () => {
    alarm.set(await roundOf(ctx, round))
  }, 0)
  alarm.set(0)
  return alarm
}

/** Answers when the next one should be, ms. */
async function roundOf(ctx: Context, round: () => Promise<boolean>): Promise<number> {
  try {
    return (await round()) ? 0 : LOOK_MS
  } catch (error) {
    const isUsual = isDatabaseAway(error) || isWorthRepeating(error)
    ctx.log[isUsual ? 'debug' : 'error']({ err: error }, 'reports could not be applied; they are tried again')
    return RETRY_MS
  }
}
