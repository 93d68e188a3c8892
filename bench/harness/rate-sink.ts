/**
 * Postfix's `smtp-sink` as the receiver of a measurement of rates: it costs the least of all and the same for each
 * server, but it can only count. So the checking sink (`sink.ts`) first receives the warm-up, and checks each message;
 * then this one listens at its port. A missing message is found here, too, and one message too many.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { monotonicMs } from './clock.ts'
import type { Remote } from './remote.ts'
import type { ExpectedMessages, SinkLedger } from './sink.ts'
import { findProgram } from './programs.ts'
import { isListening, waitUntil } from './wait.ts'

/** What a measurement needs of its receiver. */
export type MeasuredSink = Pick<Remote<'sink'>, 'pid' | 'begin' | 'progress' | 'finish'>

const BACKLOG = '1024'
/** More than two lines of its output. */
const COUNTER_LENGTH = 200
/** `smtp-sink` does not run as root. */
const USER = 'nobody'

/** Runs `work` with `smtp-sink` at the port of the checking sink; with the checking sink itself where it is missing. */
export async function withRateSink<T>(
  { sink, port }: { readonly sink: Remote<'sink'>; readonly port: number },
  work: (sink: MeasuredSink) => Promise<T>,
): Promise<T> {
  const program = findProgram('smtp-sink')
  if (program === null) return work(sink)
  await sink.release()
  try {
    const rateSink = await startProgram(program, port)
    try {
      return await work(rateSink)
    } finally {
      await rateSink.end()
    }
  } finally {
    await sink.listen(port)
  }
}

async function startProgram(program: string, port: number): Promise<MeasuredSink & { end(): Promise<void> }> {
  const user = process.getuid?.() === 0 ? ['-u', USER] : []
  const child = spawn(program, [...user, '-c', `127.0.0.1:${port}`, BACKLOG], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let [counted, before, firstAt, lastAt] = [0, 0, 0, 0]
  let expected: ExpectedMessages = { from: 0, count: 0, hasNumberedBody: false }
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString('latin1')).slice(-COUNTER_LENGTH)
    const now = countIn(output)
    if (now === null || now === counted) return
    counted = now
    firstAt ||= monotonicMs()
    lastAt = monotonicMs()
  })
  await waitUntil('smtp-sink listening', () => isListening(port))
  const ledger = (): SinkLedger => ({
    distinct: Math.min(counted - before, expected.count),
    duplicates: Math.max(0, counted - before - expected.count),
    unexpected: 0,
    wrongBody: 0,
    unsigned: 0,
    firstAt,
    lastAt,
    sample: new Uint8Array(),
  })
  return {
    pid: child.pid ?? 0,
    begin: async (messages) => {
      expected = messages
      before = counted
      firstAt = 0
    },
    progress: async () => ledger().distinct,
    finish: async () => ledger(),
    end: async () => {
      child.kill()
      await exited
    },
  }
}

/** The latest complete counter of the output, such as `sess=7 quit=6 mesg=5` with a carriage return at the end. */
export function countIn(output: string): number | null {
  const last = /mesg=(\d+)\r[^\r]*$/.exec(output)
  return last === null ? null : Number(last[1])
}
