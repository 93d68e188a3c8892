/**
 * Lets the threads of libuv's pool, which sign, give way to the main thread, which does everything else that sends
 * mail. Linux often wakes a thread on the core of the thread that woke it, ahead of that thread: the main thread was
 * stopped by signatures a third of the time, while another core was idle. With a lower priority they wait until it
 * sleeps, or another core takes them. It applies beside other processes too, so it is lowered only a little: a thread
 * gets a third of the time that another process gets on a core that both want.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'

/** Nice values above that of the process, and the highest one. */
const NICER = 5
const NICEST = 19
const THREADS = '/proc/self/task'
/** The name that libuv gives them. */
const POOL_THREAD = 'libuv-worker'

/** Returns how many threads have a lower priority now; 0 where the system does not have threads in /proc. */
export async function lowerPoolPriority(): Promise<number> {
  try {
    await stat('.') // the first work starts the threads
    const threads = readdirSync(THREADS).filter((id) => nameOf(id) === POOL_THREAD)
    const nice = Math.min(NICEST, getPriority() + NICER)
    for (const id of threads) setPriority(Number(id), nice)
    return threads.length
  } catch {
    return 0
  }
}

function nameOf(id: string): string {
  return readFileSync(`${THREADS}/${id}/comm`, 'utf8').trim()
}
