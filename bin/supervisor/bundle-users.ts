/**
 * Which processes use a bundle of the program (bin/build.mjs), and the removal of bundles that none uses. A process
 * loads code and starts roles from its bundle until it ends, so a supervisor notes itself and each of its roles as
 * users: one empty file in the bundle for each process, named by its identity.
 *
 * A dead process is no user, so one that is killed leaves nothing that stays. Whether a process in another container or
 * on another machine lives cannot be seen here: its note counts while it was renewed within three days. So does a
 * bundle without any note, which someone built by hand. Several processes may do all this at the same time: a removal
 * is noted before it looks for users, and a user looks for removals after it has noted itself. If both see each other,
 * the removal does nothing, and the user builds the bundle again, or finds it.
 */
import { randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { identifyProcess, isAlive } from './process-id.ts'

/** In the folder of a bundle. */
const NOTES = 'users'
type Kind = 'uses' | 'removes'
/** Processes renew their notes each hour. */
const RECENT_MS = 3 * 86_400_000
/** What an interrupted build or removal left behind. A build takes some seconds. */
const LEFT_MS = 3_600_000
const WORK = /^\.(?:build|removed)-/

/**
 * Notes that a process uses the bundle.
 * @returns false if the bundle is not there, or is being removed: build it again. True if nobody may write there, too
 */
export function noteUser(bundle: string, pid = process.pid): boolean {
  const identity = identifyProcess(pid)
  try {
    mkdirSync(join(bundle, NOTES))
  } catch {
    // it is there, or the bundle is not, or the user of this process may not write there
  }
  for (const name of listNotes(bundle)) if (!isLive(bundle, name)) rmSync(join(bundle, NOTES, name), { force: true })
  if (identity !== null) writeNote(bundle, 'uses', identity)
  return existsSync(bundle) && !hasNotes(bundle, 'removes')
}

/** Removes what no process uses, but for the newest bundle. Another user may own it: then it stays. */
export function removeUnusedBundles(folder: string, newest: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    try {
      if (WORK.test(name)) removeLeft(path)
      else if (path !== newest) removeUnused(path)
    } catch {
      // removed by another process, or not ours
    }
  }
}

function removeLeft(folder: string): void {
  if (Date.now() - statSync(folder).mtimeMs > LEFT_MS) rmSync(folder, { recursive: true, force: true })
}

function removeUnused(bundle: string): void {
  if (!mayRemove(bundle)) return
  const aside = join(dirname(bundle), `.removed-${basename(bundle)}-${randomUUID()}`)
  renameSync(bundle, aside)
  rmSync(aside, { recursive: true, force: true })
}

/** If so, users are refused until this process has removed the bundle, or ends. */
function mayRemove(bundle: string): boolean {
  if (!existsSync(join(bundle, NOTES))) return !isRecent(bundle)
  const removal = writeNote(bundle, 'removes', identifyProcess(process.pid) ?? '')
  if (removal !== null && hasNotes(bundle, 'uses')) rmSync(removal, { force: true })
  return removal !== null && existsSync(removal)
}

/** @returns the file; null if it cannot be written */
function writeNote(bundle: string, kind: Kind, identity: string): string | null {
  const file = join(bundle, NOTES, [kind, processNamespace(), ...identity.split(' ')].join('_'))
  try {
    writeFileSync(file, '')
    return file
  } catch {
    return null
  }
}

function hasNotes(bundle: string, kind: Kind): boolean {
  return listNotes(bundle).some((name) => name.startsWith(`${kind}_`) && isLive(bundle, name))
}

function listNotes(bundle: string): readonly string[] {
  try {
    return readdirSync(join(bundle, NOTES))
  } catch {
    return []
  }
}

/** Whether the process of the note lives, as far as it can be seen here. */
function isLive(bundle: string, name: string): boolean {
  const [, namespace = '', ...identity] = name.split('_')
  return namespace === processNamespace() ? isAlive(identity.join(' ')) : isRecent(join(bundle, NOTES, name))
}

function isRecent(path: string): boolean {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < RECENT_MS
}

/** Where the ids of processes have one meaning: this start of the machine, and the namespace of this process. */
function processNamespace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)
    return `${boot}-${readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '')}`
  } catch {
    return 'here'
  }
}
