/**
 * Parts of the benchmark that run in processes of their own (the sink, the load
 * generators), so that their CPU time is measured separately. The parent calls
 * their methods over the IPC channel. When the parent ends, also after kill -9,
 * the channel closes and they end; when one of them ends, its pending calls are
 * rejected.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type RemoteCall, type Methods, type RemoteReply, type Role, ROLES } from './roles.ts'

/** The methods of a role, called in its process. */
export type Remote<R extends Role> = Methods[R] & {
  readonly pid: number
  end(): Promise<void>
}

interface PendingCall {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** Starts the process of one role. */
export async function startRemote<R extends Role>(role: R): Promise<Remote<R>> {
  const child = fork(fileURLToPath(new URL('remote-main.ts', import.meta.url)), [role], {
    serialization: 'advanced',
    detached: true,
  })
  const call = createCaller(child, role)
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

function createCaller(
  child: ChildProcess,
  role: string,
): (method: string, args: readonly unknown[]) => Promise<unknown> {
  const pending = new Map<number, PendingCall>()
  let lastId = 0
  child.on('message', (reply: RemoteReply) => {
    const caller = pending.get(reply.id)
    pending.delete(reply.id)
    if (reply.error === undefined) caller?.resolve(reply.value)
    else caller?.reject(new Error(`${role}: ${reply.error}`))
  })
  child.on('exit', () => {
    for (const caller of pending.values()) caller.reject(new Error(`the ${role} process ended`))
    pending.clear()
  })
  return (method, args) =>
    new Promise((resolve, reject) => {
      const id = ++lastId
      pending.set(id, { resolve, reject })
      const call: RemoteCall = { id, method, args }
      child.send(call, (error) => {
        if (error && pending.delete(id)) reject(error)
      })
    })
}
