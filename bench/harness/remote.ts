/**
 * Parts of the benchmark that run in a process of their own (the sink, the
 * load generators), so that their CPU is known apart from the rest. The parent
 * calls their methods over the IPC channel, one answer per call. When the
 * parent dies, however it dies, the channel closes and they end by themselves;
 * when one of them dies, every call that waits for it is rejected.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Call, type Methods, type Reply, type Role, ROLES } from './roles.ts'

/** The methods of a role, callable from here: each answers with a promise already. */
export type Remote<R extends Role> = Methods[R] & {
  readonly pid: number
  end(): Promise<void>
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** Starts the process of one role. */
export async function startRemote<R extends Role>(role: R): Promise<Remote<R>> {
  const child = fork(fileURLToPath(new URL('remote-main.ts', import.meta.url)), [role], {
    serialization: 'advanced',
    detached: true,
  })
  const call = connect(child, role)
  await once(child, 'spawn')
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    if (child.connected) child.disconnect()
    await ended
  }
  const methods = Object.keys(ROLES[role]()).map((name) => [name, (...args: unknown[]) => call(name, args)])
  return { ...Object.fromEntries(methods), pid: child.pid, end } as Remote<R>
}

function connect(child: ChildProcess, role: string): (method: string, args: readonly unknown[]) => Promise<unknown> {
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  child.on('message', (reply: Reply) => {
    const caller = waiting.get(reply.id)
    waiting.delete(reply.id)
    if (reply.error === undefined) caller?.resolve(reply.value)
    else caller?.reject(new Error(`${role}: ${reply.error}`))
  })
  child.on('exit', () => {
    for (const caller of waiting.values()) caller.reject(new Error(`the ${role} process ended`))
    waiting.clear()
  })
  return (method, args) =>
    new Promise((resolve, reject) => {
      const id = ++lastId
      waiting.set(id, { resolve, reject })
      const call: Call = { id, method, args }
      child.send(call, (error) => {
        if (error && waiting.delete(id)) reject(error)
      })
    })
}
