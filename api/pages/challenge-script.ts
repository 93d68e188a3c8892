/**
 * The script of a subscribe form with a proof of work: the only script of any page, allowed by its hash. It searches in
 * slices, so that the page stays usable, and then fills in the form. SHA-256 is in the script, because browsers offer
 * theirs only to https pages, and one call per hash costs more than the hash. A challenge and a number fit in one
 * block.
 */
export const CHALLENGE_SCRIPT = `
(() => {
  const field = document.querySelector('input[name=challenge]')
  const form = field.form
  const button = form.querySelector('button')
  const note = document.getElementById('challenge-note')
  const bits = Number(field.dataset.bits)
  const text = field.value + ':'
  const primes = []
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n)
  const fraction = (x) => ((x - Math.floor(x)) * 4294967296) | 0
  const K = primes.map((p) => fraction(Math.cbrt(p)))
  const H = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)))
  const w = new Int32Array(64)
  const rotate = (x, n) => (x >>> n) | (x << (32 - n))
  const firstWord = (message) => {
    w.fill(0)
    for (let i = 0; i < message.length; i++) w[i >> 2] |= message.charCodeAt(i) << (24 - 8 * (i % 4))
    w[message.length >> 2] |= 128 << (24 - 8 * (message.length % 4))
    w[15] = 8 * message.length
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15], b = w[i - 2]
      const s0 = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3), s1 = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10)
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0
    }
    let [a, b, c, d, e, f, g, h] = H
    for (let i = 0; i < 64; i++) {
      const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0
      const t2 = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0
    }
    return (a + H[0]) | 0
  }
  let number = 0
  const search = () => {
    for (const end = number + 20000; number < end; number++)
      if (Math.clz32(firstWord(text + number)) >= bits) {
        form.elements.solution.value = String(number)
        button.disabled = false
        note.remove()
        return
      }
    setTimeout(search)
  }
  button.disabled = true
  search()
})()
`
