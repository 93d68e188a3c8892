/**
 * The load on the SMTP references: Postfix's `smtp-source` where Debian's
 * package is there, else the source of our own, with the same shape: 30
 * sessions, 4 KB, another recipient each time, one message per connection.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { monotonicMs } from './clock.ts'
import type { Sent } from './contender.ts'
import { readUsage, reapedCpuMs } from './cpu.ts'
import { SENDER } from './dkim.ts'
import { BODY_BYTES } from './sample-message.ts'
import { findProgram } from './programs.ts'
import { startRemote } from './remote.ts'
import type { Expected } from './sink.ts'

export const SITE = 'site.example'
const SESSIONS = 30

/** What both sources number their messages by. */
export function expectFromSource(count: number): Expected {
  return { from: 1, count, isOwnLetter: false }
}

/** Sends messages 1 to `count` to a server on loopback. Rejects when the server refuses one. */
export async function sendBySmtp(port: number, count: number): Promise<Sent> {
  const program = findProgram('smtp-source')
  return program === null ? sendByOwnSource(port, count) : sendByProgram(program, port, count)
}

export function describeSource(): string {
  return findProgram('smtp-source') === null ? 'own SMTP source' : 'smtp-source'
}

async function sendByProgram(program: string, port: number, count: number): Promise<Sent> {
  const reapedBefore = reapedCpuMs()
  const startedAt = monotonicMs()
  const source = spawn(
    program,
    [
      '-N',
      '-s',
      String(SESSIONS),
      '-m',
      String(count),
      '-l',
      String(BODY_BYTES),
      '-f',
      SENDER,
      '-t',
      `r@${SITE}`,
      `127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let complaint = ''
  source.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString()
  })
  const [code] = (await once(source, 'close')) as [number | null]
  if (code !== 0) throw new Error(`smtp-source failed: ${complaint.trim()}`)
  return { startedAt, endedAt: monotonicMs(), loadCpuMs: reapedCpuMs() - reapedBefore }
}

async function sendByOwnSource(port: number, count: number): Promise<Sent> {
  const source = await startRemote('source')
  const times = await source.send({
    port,
    count,
    sessions: Math.min(SESSIONS, count),
    bytes: BODY_BYTES,
    sender: SENDER,
    site: SITE,
  })
  const loadCpuMs = readUsage({ source: source.pid })['source']?.cpuMs ?? 0
  await source.end()
  return { ...times, loadCpuMs }
}
