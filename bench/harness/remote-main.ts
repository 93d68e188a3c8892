/**
 * The main program of the benchmark's own processes: `node remote-main.ts <role>`
 * serves the calls of `bench/harness/remote.ts` and ends when the IPC channel
 * closes. An error of a method is returned to the caller; the process continues.
 */
import { type RemoteCall, type RemoteReply, type Role, ROLES } from './roles.ts'

function serve(role: Role): void {
  const methods = ROLES[role]() as Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>
  process.on('disconnect', () => process.exit(0))
  process.on('message', ({ id, method, args }: RemoteCall) => {
    const run = methods[method]
    if (run === undefined) return answer({ id, error: `unknown method ${method}` })
    run(...args).then(
      (value) => answer({ id, value }),
      (error: unknown) => answer({ id, error: error instanceof Error ? error.message : String(error) }),
    )
  })
}

function answer(reply: RemoteReply): void {
  process.send?.(reply)
}

serve(process.argv[2] as Role)
