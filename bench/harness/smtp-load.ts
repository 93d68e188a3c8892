/**
 * The load generator for SMTP: Postfix's `smtp-source` where it is installed,
 * otherwise the built-in source, with the same parameters: 30 sessions, 4 KB, a
 * different recipient each time, one message per connection.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { monotonicMs } from './clock.ts'
import type { SendResult } from './contender.ts'
import { readUsage, reapedCpuMs } from './cpu.ts'
import { SENDER } from './dkim.ts'
import { BODY_BYTES } from './sample-message.ts'
import { findProgram } from './programs.ts'
import { startRemote } from './remote.ts'
import type { ExpectedMessages } from './sink.ts'

export const SITE = 'site.example'
const SESSIONS = 30

/** Both sources number their messages from 1. */
export function expectedFromSource(count: number): ExpectedMessages {
  return { from: 1, count, hasNumberedBody: false }
}

/** Sends messages 1 to `count` to a server on loopback. Rejects when the server refuses one. */
export async function sendBySmtp(port: number, count: number): Promise<SendResult> {
  const program = findProgram('smtp-source')
  return program === null ? sendByBuiltInSource(port, count) : sendByProgram(program, port, count)
}

export function describeSource(): string {
  return findProgram('smtp-source') === null ? 'built-in SMTP source' : 'smtp-source'
}

async function sendByProgram(program: string, port: number, count: number): Promise<SendResult> {
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
  let errorOutput = ''
  source.stderr.on('data', (chunk: Buffer) => {
    errorOutput += chunk.toString()
  })
  const [code] = (await once(source, 'close')) as [number | null]
  if (code !== 0) throw new Error(`smtp-source failed: ${errorOutput.trim()}`)
  return { startedAt, endedAt: monotonicMs(), loadCpuMs: reapedCpuMs() - reapedBefore }
}

async function sendByBuiltInSource(port: number, count: number): Promise<SendResult> {
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
