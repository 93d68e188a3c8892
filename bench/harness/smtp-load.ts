/**
 * The load generator for SMTP: Postfix's `smtp-source` where it is installed, otherwise the built-in source. Both send
 * finished mails in 30 sessions, one message per connection, to a different recipient each time. A mixture is sent by
 * one source for each kind of mail, all at the same time, with its share of the messages and sessions.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FinishedMail, finishedMails, type MailMix } from '#bench/mails/mail-mix.ts'
import { monotonicMs } from './clock.ts'
import type { SendResult } from './contender.ts'
import { readUsage, reapedCpuMs } from './cpu.ts'
import { SENDER } from './dkim.ts'
import { findProgram } from './programs.ts'
import { startRemote } from './remote.ts'
import type { ExpectedMessages } from './sink.ts'

export const SITE = 'site.example'
/** Connections at the same time. */
export const SESSIONS = 30

/** Messages of one kind: `from` is the number of the first, `sessions` its share of them. */
export interface SourceBatch {
  readonly mail: Buffer
  readonly from: number
  readonly count: number
  readonly sessions: number
}

/** All sources number their messages from 1. */
export function expectedFromSource(count: number): ExpectedMessages {
  return { from: 1, count, hasNumberedBody: false }
}

/** Sends messages 1 to `count` to a server on loopback. Rejects when the server refuses one. */
export async function sendBySmtp(port: number, count: number, mix: MailMix): Promise<SendResult> {
  const batches = splitIntoBatches(await finishedMails(mix, SENDER, `r@${SITE}`), count)
  const program = findProgram('smtp-source')
  return program === null ? sendByBuiltInSource(port, batches) : sendByProgram(program, port, batches)
}

export function describeSource(): string {
  return findProgram('smtp-source') === null ? 'built-in SMTP source' : 'smtp-source'
}

/** Divides messages and sessions by the shares; the last kind gets the rest. Kinds without a message are left out. */
export function splitIntoBatches(mails: readonly FinishedMail[], count: number): SourceBatch[] {
  const batches: SourceBatch[] = []
  let from = 1
  mails.forEach(({ share, mail }, index) => {
    const isLast = index === mails.length - 1
    const size = isLast ? count + 1 - from : Math.floor((count * share) / 100)
    const sessions = Math.min(Math.max(1, Math.round((SESSIONS * share) / 100)), size)
    if (size > 0) batches.push({ mail, from, count: size, sessions })
    from += size
  })
  return batches
}

/** `smtp-source` numbers from 1: the start of a batch is in the address, and the sink adds both (`sink.ts`). */
export function recipientOf({ from }: Pick<SourceBatch, 'from'>): string {
  return `k${from - 1}@${SITE}`
}

async function sendByProgram(program: string, port: number, batches: readonly SourceBatch[]): Promise<SendResult> {
  const dir = mkdtempSync(join(tmpdir(), 'mailstead-source-'))
  try {
    const reapedBefore = reapedCpuMs()
    const startedAt = monotonicMs()
    await Promise.all(
      batches.map((batch, index) => {
        const file = join(dir, `${index}.eml`)
        writeFileSync(file, batch.mail.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
        return runProgram(program, port, file, batch)
      }),
    )
    return { startedAt, endedAt: monotonicMs(), loadCpuMs: reapedCpuMs() - reapedBefore }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function runProgram(program: string, port: number, file: string, batch: SourceBatch): Promise<void> {
  const sizes = ['-s', String(batch.sessions), '-m', String(batch.count), '-F', file]
  const addresses = ['-f', SENDER, '-t', recipientOf(batch), `127.0.0.1:${port}`]
  const source = spawn(program, ['-N', ...sizes, ...addresses], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errorOutput = ''
  source.stderr.on('data', (chunk: Buffer) => {
    errorOutput += chunk.toString()
  })
  const [code] = (await once(source, 'close')) as [number | null]
  if (code !== 0) throw new Error(`smtp-source failed: ${errorOutput.trim()}`)
}

async function sendByBuiltInSource(port: number, batches: readonly SourceBatch[]): Promise<SendResult> {
  const source = await startRemote('source')
  const times = await source.send({ port, batches, sender: SENDER, site: SITE })
  const loadCpuMs = readUsage({ source: source.pid })['source']?.cpuMs ?? 0
  await source.end()
  return { ...times, loadCpuMs }
}
