/**
 * Runs one role of Mailstead as a process of its own (`bin/mailstead.ts <role>`), for tests that kill it. The process
 * reports over IPC when it is ready. It ends with the test run: it stops when the IPC channel closes, and a reaper
 * kills it otherwise, also when SIGSTOP holds it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { attachReaper } from '#bin/supervisor/child-reaper.ts'
import { lastLines } from '#bin/supervisor/log-file.ts'

/** A run of many files bundles it once (test/run.ts). */
const PROGRAM = process.env['TEST_PROGRAM'] ?? join(import.meta.dirname, '../../bin/mailstead.ts')
/** Set before Node starts, as bin/mailstead does: then a start does not load the type stripper, 0.12 s of CPU. */
const COMPILED = process.env['NODE_COMPILE_CACHE'] ?? join(import.meta.dirname, '../../node_modules/.cache/node')

/** Where root runs the tests: the stores of a test are open to their own user only. */
const KEEP_ROOT = { KEEP_ROOT: 'true' }

export interface RoleProcessOptions {
  /** Arguments of bin/mailstead.ts. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Removed when the test run dies. */
  readonly home: string
  /** In its home; stdout and stderr of all its lives are appended. */
  readonly logName: string
}

export class RoleProcess {
  readonly logFile: string
  readonly #plan: RoleProcessOptions
  #process: ChildProcess | null = null

  constructor(plan: RoleProcessOptions) {
    this.#plan = plan
    this.logFile = join(plan.home, plan.logName)
  }

  get isRunning(): boolean {
    return this.#process !== null
  }

  /** Starts it and waits until it is ready; `env` are settings for this life only. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    if (this.#process !== null) throw new Error(`${this.#plan.args.join(' ')} runs already`)
    const log = openSync(this.logFile, 'a')
    const child = spawn(process.execPath, [PROGRAM, ...this.#plan.args], {
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILED, ...KEEP_ROOT, ...this.#plan.env, ...env },
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
    })
    closeSync(log)
    await once(child, 'spawn')
    this.#process = child
    const tie = attachReaper(child.pid ?? 0, 'TERM', this.#plan.home)
    const gone = once(child, 'exit').then(() => {
      tie.release()
      if (this.#process === child) this.#process = null
      return false
    })
    const isReady = await Promise.race([once(child, 'message').then(() => true), gone])
    if (!isReady) throw new Error(`${this.#plan.args.join(' ')} did not start:\n${lastLines(this.logFile, 10)}`)
  }

  /** kill -9; resolves when it is gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** SIGTERM; resolves with the exit code, null when a signal ended it. */
  terminate(): Promise<number | null> {
    return this.#end('SIGTERM')
  }

  /** SIGSTOP: not a step more until `resume`. */
  pause(): void {
    this.#process?.kill('SIGSTOP')
  }

  resume(): void {
    this.#process?.kill('SIGCONT')
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#process
    if (child === null) return null
    const exited = once(child, 'exit')
    child.kill(signal)
    const [code] = (await exited) as [number | null]
    return code
  }

  /** Ends it for good, in order where that is possible. */
  async stop(): Promise<void> {
    this.resume()
    await this.terminate()
  }
}
