/** Checks the machine: Node.js, sandbox mode and host name, disk space. */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '#config/load.ts'
import { type DoctorFinding, type DoctorCheck, failed, ok, skipped, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

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
        : failed(doctorText('node_old', { version: node }), doctorText('node_todo', { version: MIN_NODE })),
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
    return ok(doctorText('mode_sandbox'), name === null ? '' : doctorText('mode_sandbox_todo', { name }))
  }
  if (isLive) return ok(doctorText('mode_live', { name: serverName }))
  return warning(doctorText('mode_unset', { name: serverName }), doctorText('mode_unset_todo'))
}

export const DISK: DoctorCheck = {
  name: 'disk',
  run: async ({ config }) => {
    let folder = config.dataDir
    while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
    const { bavail, bsize } = await statfs(folder)
    const free = bavail * bsize
    if (!Number.isFinite(free)) return skipped(doctorText('disk_unknown'))
    const detail = doctorText('disk_free', { gigabytes: (free / GIGABYTE).toFixed(1), folder })
    return free < GIGABYTE ? warning(detail, doctorText('disk_todo')) : ok(detail)
  },
}
