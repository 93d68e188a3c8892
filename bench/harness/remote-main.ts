/**
 * The main of the benchmark's own processes: `node remote-main.ts <role>`
 * answers the calls of `bench/harness/remote.ts` and ends when the channel closes. A method
 * that throws is reported to the caller; the process stays.
 */
import { type Call, type Reply, type Role, ROLES } from './roles.ts'

function serve(role: Role): void {
  const methods = ROLES[role]() as Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>
  process.on('disconnect', () => process.exit(0))
  process.on('message', ({ id, method, args }: Call) => {
    const run = methods[method]
    if (run === undefined) return answer({ id, error: `there is no method ${method}` })
    run(...args).then(
      (value) => answer({ id, value }),
      (error: unknown) => answer({ id, error: error instanceof Error ? error.message : String(error) }),
    )
  })
}

function answer(reply: Reply): void {
  process.send?.(reply)
}

serve(process.argv[2] as Role)
