/**
 * Migrates the database and provisions a first run for `start`, in a process of its own that ends afterwards. The
 * supervisor runs for months, and the clients, schemas and migrations that this needs would stay in its memory.
 *
 * The supervisor dies: the channel closes, the process ends, and PostgreSQL rolls back what is not committed. The
 * process dies: the step fails, and with it the start.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { reasonOf, UserError } from '#bin/supervisor/user-error.ts'
import { environment } from '#config/environment.ts'

/** In order: see STEPS in provisioner-process.ts. */
export type ProvisionStep = 'migrate' | 'provision' | 'report'

/** What `start` knows and the environment does not. */
export interface ProvisionSettings {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly httpPort: number
}

/** To the process. */
export interface StepRequest {
  readonly step: ProvisionStep
  readonly settings: ProvisionSettings
}

/** From the process, when the step has ended. Errors that a person can fix are a `UserError` or a `ConfigError`. */
export interface StepResult {
  readonly error: { readonly name: string; readonly message: string; readonly stack: string } | null
}

export interface Provisioner {
  readonly pid: number
  /** One step at a time. @throws what the step threw, or an error if the process has ended. */
  run(step: ProvisionStep, settings: ProvisionSettings): Promise<void>
  /** Resolves when the process has ended. A step under way is cut off. */
  end(): Promise<void>
}

const PROGRAM = new URL('./provisioner-process.ts', import.meta.url)

/** Starts the process, which loads its code while the stores start. `stop` ends a wait for PostgreSQL. */
export function startProvisioner(stop: AbortSignal, output: 'inherit' | 'ignore' = 'inherit'): Provisioner {
  const child = fork(fileURLToPath(PROGRAM), { env: environment, stdio: ['ignore', output, output, 'ipc'] })
  const ended = once(child, 'exit').then(([code, signal]) => `${signal ?? `exit code ${code}`}`, reasonOf)
  const onStop = (): void => void child.kill('SIGTERM')
  stop.addEventListener('abort', onStop, { once: true })
  void ended.then(() => stop.removeEventListener('abort', onStop))
  return {
    pid: child.pid ?? 0,
    run: async (step, settings) => {
      const request: StepRequest = { step, settings }
      // a process that has ended already is reported by its exit
      child.send(request, () => undefined)
      const result = await Promise.race([once(child, 'message'), ended])
      if (typeof result === 'string')
        throw new UserError(
          `The process that prepares the database ended (${result}) in the step "${step}".`,
          'Start again. After SIGKILL check first whether the machine has run out of memory.',
        )
      const { error } = result[0] as StepResult
      if (error !== null) throw reviveError(error)
    },
    end: async () => {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}

function reviveError({ name, message, stack }: NonNullable<StepResult['error']>): Error {
  return name === 'UserError' ? UserError.of(message) : Object.assign(new Error(message), { name, stack })
}
