import { assert } from 'chai'
import { superviseProcess } from './restart-policy.ts'
import type { RunningProcess } from './processes.ts'

/** A process that ends when it is told to. */
function fake(pid: number): RunningProcess & { end(reason: string): void } {
  const { promise, resolve } = Promise.withResolvers<string>()
  const stop = async (): Promise<void> => resolve('was told to stop')
  return { pid, exited: promise, stop, kill: stop, end: resolve }
}

/** What keeper says, to be awaited line by line. */
function listen(): { say: (line: string) => void; until: (pattern: RegExp) => Promise<void>; lines: string[] } {
  const lines: string[] = []
  let wake = (): void => {}
  const until = async (pattern: RegExp): Promise<void> => {
    while (!lines.some((line) => pattern.test(line)))
      await new Promise<void>((resolve) => {
        wake = resolve
      })
  }
  return {
    say: (line) => {
      lines.push(line)
      wake()
    },
    until,
    lines,
  }
}

describe('a process that is kept', () => {
  it('is started again, with the reason said and longer pauses each time', async () => {
    const [one, two, three] = [fake(1), fake(2), fake(3)]
    const nexts = [two, three]
    const { say, until, lines } = listen()
    const kept = superviseProcess('Redis', one, async () => nexts.shift() ?? fake(9), say)
    one.end('signal SIGKILL')
    await until(/running again/)
    assert.strictEqual(kept.current().pid, 2)
    lines.length = 0
    two.end('exit code 1')
    await until(/running again/)
    assert.deepEqual(lines, ['Redis exited (exit code 1); restarting in 200 ms', 'Redis is running again'])
    await kept.stop()
    assert.strictEqual(await three.exited, 'was told to stop')
  })

  it('is tried again when a start fails', async () => {
    const one = fake(1)
    const { say, until, lines } = listen()
    let tries = 0
    const kept = superviseProcess(
      'PostgreSQL',
      one,
      async () => {
        tries += 1
        if (tries === 1) throw new Error('no space left')
        return fake(2)
      },
      say,
    )
    one.end('exit code 2')
    await until(/running again/)
    assert.ok(lines.includes('PostgreSQL exited (no space left); restarting in 200 ms'), lines.join('\n'))
    await kept.stop()
  })

  it('stays stopped, also when it was just being started', async () => {
    const [one, two] = [fake(1), fake(2)]
    const { say, until } = listen()
    let told: AbortSignal | null = null
    const { promise: isStarting, resolve: starting } = Promise.withResolvers<void>()
    const kept = superviseProcess(
      'api',
      one,
      async (signal) => {
        told = signal
        starting()
        // A start that hangs until nobody wants it any more.
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve())
        })
        return two
      },
      say,
    )
    one.end('exit code 1')
    await until(/restarting in/)
    await isStarting
    await kept.stop()
    assert.strictEqual((told as AbortSignal | null)?.aborted, true)
    assert.strictEqual(await two.exited, 'was told to stop')
  })
})
