// The filter of the API reference. Without this script the page is complete; the browser's search finds everything.
const field = document.querySelector('#filter')
const operations = [...document.querySelectorAll('main .operation')].map((element) => ({
  element,
  text: element.querySelector('summary').textContent.toLowerCase(),
}))
const links = [...document.querySelectorAll('nav li li')]
const none = document.querySelector('#none')

function apply() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean)
  let shown = 0
  for (const { element, text } of operations) {
    element.hidden = !words.every((word) => text.includes(word))
    if (!element.hidden) shown++
  }
  for (const section of document.querySelectorAll('main section'))
    section.hidden = section.querySelector('.operation:not([hidden])') === null
  for (const link of links) {
    const target = document.getElementById(link.querySelector('a').hash.slice(1))
    link.hidden = target?.closest('.operation')?.hidden === true
  }
  none.hidden = shown > 0
}

/** Opens the endpoint that the address names. */
function open() {
  const target = document.getElementById(location.hash.slice(1))?.closest('details')
  if (target) target.open = true
}

// on a narrow screen the contents would fill it
if (matchMedia('(max-width: 56rem)').matches) document.querySelector('.contents').open = false
field.closest('label').hidden = false
field.addEventListener('input', apply)
addEventListener('hashchange', open)
apply()
open()
