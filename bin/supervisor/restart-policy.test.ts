import { assert } from 'chai'
import { superviseProcess } from './restart-policy.ts'
import type { RunningProcess } from './processes.ts'

/** A process that ends when the test or `stop` ends it. */
function fake(pid: number): RunningProcess & { end(reason: string): void } {
  const { promise, resolve } = Promise.withResolvers<string>()
  const stop = async (): Promise<void> => resolve('was startSignal to stop')
  return { pid, exited: promise, stop, kill: stop, end: resolve }
}

/** The log lines of the supervisor, to await one by one. */
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

describe('a supervised process', () => {
  it('is restarted, with the reason in the log and longer pauses each time', async () => {
    const [one, two, three] = [fake(1), fake(2), fake(3)]
    const nexts = [two, three]
    const { say, until, lines } = listen()
    const supervised = superviseProcess('Redis', one, async () => nexts.shift() ?? fake(9), say)
    one.end('signal SIGKILL')
    await until(/running again/)
    assert.strictEqual(supervised.current().pid, 2)
    lines.length = 0
    two.end('exit code 1')
    await until(/running again/)
    assert.deepEqual(lines, ['Redis exited (exit code 1); restarting in 200 ms', 'Redis is running again'])
    await supervised.stop()
    assert.strictEqual(await three.exited, 'was startSignal to stop')
  })

  it('is started again when a start fails', async () => {
    const one = fake(1)
    const { say, until, lines } = listen()
    let tries = 0
    const supervised = superviseProcess(
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
    await supervised.stop()
  })

  it('stays stopped, even when a restart was in progress', async () => {
    const [one, two] = [fake(1), fake(2)]
    const { say, until } = listen()
    let startSignal: AbortSignal | null = null
    const { promise: isStarting, resolve: starting } = Promise.withResolvers<void>()
    const supervised = superviseProcess(
      'api',
      one,
      async (signal) => {
        startSignal = signal
        starting()
        // A start that hangs until it is aborted.
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
    await supervised.stop()
    assert.strictEqual((startSignal as AbortSignal | null)?.aborted, true)
    assert.strictEqual(await two.exited, 'was startSignal to stop')
  })
})
