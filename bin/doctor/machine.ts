/** Checks the machine: Node.js, sandbox mode and host name, disk space. */
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type DoctorCheck, failed, ok, skipped, warning } from './check.ts'

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
  run: ({ config }) => {
    if (config.isSandbox) return Promise.resolve(ok('sandbox: no mail leaves this machine'))
    const isNamed = config.hostname?.toLowerCase() === config.serverName
    const todo = 'set HOSTNAME to the public name of this server; receivers check it'
    return Promise.resolve(
      isNamed ? ok(`mail leaves this machine as ${config.serverName}`) : warning('HOSTNAME is not a public name', todo),
    )
  },
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
