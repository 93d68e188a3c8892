/**
 * Which ports the submission role of this machine has: told in a file of DATA_DIR/run by whoever listens, for whoever prints or tests them.
 * A file that is not there or not whole is no answer, never a failure; the role that wrote it removes it at its stop.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '#config/load.ts'

export interface SubmissionPorts {
  /** STARTTLS. */
  readonly plain: number
  /** TLS from the first byte. */
  readonly tls: number
  /** STARTTLS, for networks that block the first. */
  readonly alt: number
}

type Place = Pick<Config, 'dataDir'>

function fileOf({ dataDir }: Place): string {
  return join(dataDir, 'run', 'submission-ports.json')
}

/** Written whole or not at all: false when the folder cannot be written. */
export function tellPorts(place: Place, ports: SubmissionPorts): boolean {
  try {
    write(place, ports)
    return true
  } catch {
    return false
  }
}

function write(place: Place, ports: SubmissionPorts): void {
  mkdirSync(join(place.dataDir, 'run'), { recursive: true })
  const draft = `${fileOf(place)}.${process.pid}`
  writeFileSync(draft, JSON.stringify(ports))
  renameSync(draft, fileOf(place))
}

/** Null while none listens. */
export function readPorts(place: Place): SubmissionPorts | null {
  try {
    const { plain, tls, alt } = JSON.parse(readFileSync(fileOf(place), 'utf8')) as Record<string, unknown>
    return typeof plain === 'number' && typeof tls === 'number' && typeof alt === 'number' ? { plain, tls, alt } : null
  } catch {
    return null
  }
}

/** Another process may have told its own since: those stay. */
export function forgetPorts(place: Place, ports: SubmissionPorts): void {
  const told = readPorts(place)
  if (told !== null && told.plain === ports.plain && told.tls === ports.tls && told.alt === ports.alt)
    rmSync(fileOf(place), { force: true })
}
