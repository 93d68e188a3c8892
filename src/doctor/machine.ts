/** Checks the machine: Node.js, sandbox mode and host name, disk space. */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '#config/load.ts'
import { type DoctorFinding, type DoctorCheck, failed, ok, skipped, warning } from './check.ts'

const MIN_NODE = 24
const GIGABYTE = 1_000_000_000

export const NODE: DoctorCheck = {
  name: 'Node.js',
  run: () => {
    const { node } = process.versions
    const isNew = Number.parseInt(node, 10) >= MIN_NODE
    return Promise.resolve(
      isNew
        ? ok(node)
        : failed(`${node} is too old`, `start Mailstead with bin/mailstead, which installs Node ${MIN_NODE}`),
    )
  },
}

export const SENDING_MODE: DoctorCheck = {
  name: 'mode',
  run: ({ config }) => Promise.resolve(checkMode(config)),
}

type ModeConfig = Pick<Config, 'isSandbox' | 'isLive' | 'serverName' | 'hostname' | 'ignoredHostname'>

function checkMode({ isSandbox, isLive, serverName, hostname, ignoredHostname }: ModeConfig): DoctorFinding {
  const name = hostname ?? ignoredHostname
  if (isSandbox) {
    const hint = name === null ? '' : `to send mail to the internet, set MODE=live and MAILSTEAD_HOSTNAME=${name}`
    return { ...ok('sandbox: no mail leaves this machine'), todo: hint }
  }
  if (isLive) return ok(`live: mail leaves this machine as ${serverName}`)
  return warning(
    `MODE is not set: mail goes where DNS_SERVERS or ROUTES say, as ${serverName}`,
    `set MODE=live and MAILSTEAD_HOSTNAME to the public name of this server, or MODE=sandbox`,
  )
}

export const DISK: DoctorCheck = {
  name: 'disk',
  run: async ({ config }) => {
    let folder = config.dataDir
    while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
    const { bavail, bsize } = await statfs(folder)
    const free = bavail * bsize
    if (!Number.isFinite(free)) return skipped('the free disk space is unknown')
    const detail = `${(free / GIGABYTE).toFixed(1)} GB free in ${folder}`
    return free < GIGABYTE ? warning(detail, 'free disk space, or set DATA_DIR to a larger disk') : ok(detail)
  },
}
