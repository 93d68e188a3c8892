/**
 * Listening sockets that systemd opened for this process (socket activation, sd_listen_fds(3)). The name of a socket
 * (`FileDescriptorName=`) is the setting whose port it stands for, such as `HTTP_PORT`. systemd keeps the socket while
 * the process restarts, so that connections wait and none is refused, and a port below 1024 needs no capability here.
 *
 * Sockets for another process (LISTEN_PID) are left alone. Child processes inherit neither variables nor sockets: Node
 * marks all descriptors that it got as close-on-exec.
 */
import { environment } from '#config/environment.ts'
import { ConfigError } from '#config/load.ts'

/** SD_LISTEN_FDS_START. */
const FIRST_DESCRIPTOR = 3
const VARIABLES = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'] as const

let passed: Map<string, number> | null = null

/** The descriptor of the socket for a port setting; null if systemd opened none. Each can be taken once. */
export function takePassedSocket(setting: string): number | null {
  passed ??= readPassedSockets(environment)
  const descriptor = passed.get(setting) ?? null
  passed.delete(setting)
  return descriptor
}

/** Descriptors by name. @throws ConfigError if two sockets have one name. */
export function readPassedSockets(env: NodeJS.ProcessEnv, pid: number = process.pid): Map<string, number> {
  const { LISTEN_PID: owner, LISTEN_FDS: count = '0', LISTEN_FDNAMES: names = '' } = env
  for (const name of VARIABLES) delete env[name]
  const sockets = new Map<string, number>()
  if (Number(owner) !== pid) return sockets
  for (const [index, name] of names.split(':').slice(0, Number(count)).entries()) {
    if (sockets.has(name))
      throw new ConfigError(`systemd passed two sockets with the name ${name}: write one ListenStream= for each name`)
    sockets.set(name, FIRST_DESCRIPTOR + index)
  }
  return sockets
}
