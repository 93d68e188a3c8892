/**
 * The ports of the submission server on this machine. The process that listens writes them to a file in DATA_DIR/run;
 * commands read the file to print or test the ports. A missing or incomplete file means that the ports are not known;
 * it is not an error. The process removes its file when it stops; one that may not write the folder, because it has
 * given up the rights of root, writes and empties the file that was made for it.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '#config/load.ts'
import { removeOrEmpty } from '#src/platform/files.ts'

export interface SubmissionPorts {
  /** STARTTLS. */
  readonly plain: number
  /** TLS from the first byte. */
  readonly tls: number
  /** STARTTLS, for networks that block the first port. */
  readonly alt: number
}

type DataDirSetting = Pick<Config, 'dataDir'>

function fileOf({ dataDir }: DataDirSetting): string {
  return join(dataDir, 'run', 'submission-ports.json')
}

/** Writes the file atomically; false when the folder is not writable. */
export function publishPorts(config: DataDirSetting, ports: SubmissionPorts): boolean {
  try {
    write(config, ports)
    return true
  } catch {
    return false
  }
}

function write(config: DataDirSetting, ports: SubmissionPorts): void {
  mkdirSync(join(config.dataDir, 'run'), { recursive: true })
  const text = JSON.stringify(ports)
  const draft = `${fileOf(config)}.${process.pid}`
  try {
    writeFileSync(draft, text)
    renameSync(draft, fileOf(config))
  } catch {
    writeFileSync(fileOf(config), text)
  }
}

/** Null while no submission server listens. */
export function readPorts(config: DataDirSetting): SubmissionPorts | null {
  try {
    const { plain, tls, alt } = JSON.parse(readFileSync(fileOf(config), 'utf8')) as Record<string, unknown>
    return typeof plain === 'number' && typeof tls === 'number' && typeof alt === 'number' ? { plain, tls, alt } : null
  } catch {
    return null
  }
}

/** Removes the file, unless another process has written its own ports since. */
export function removePorts(config: DataDirSetting, ports: SubmissionPorts): void {
  const published = readPorts(config)
  if (
    published !== null &&
    published.plain === ports.plain &&
    published.tls === ports.tls &&
    published.alt === ports.alt
  )
    removeOrEmpty(fileOf(config))
}
