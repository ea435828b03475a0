"""General English vocabulary by what it says about replacement: how many values an attribute can have at once.

The lists are closed sets of common words, chosen by meaning and never from labelled pairs. Verbs stand in their base form,
`verb_forms` makes the inflected ones.
"""

from __future__ import annotations

from typing import Final

from factsieve.core.guard.lexicon import words as words  # noqa: PLC0414 - told on, which mypy wants to see

# A subject has one value at a time: "lives in", "costs", "listens on".
ONE_VERBS: Final = words(
    "live reside dwell cost weigh measure total amount equal number last expire listen report belong default resolve point sit stand hang lie stay"
    " start begin open close end finish depart arrive leave land dock meet convene gather fall come reach seat hold employ average sample rotate poll"
    " refresh renew retry rank earn pay charge draw consume pump fill deploy ship run serve bank commute sleep work prefer favour favor settle face occupy"
    " store keep save read write log back host house base locate situate station schedule plan set fix rate price value park lease rent register"
    " assign allocate own maintain manage lead head staff license publish name call title spell pronounce bind map forward route connect marry insure"
    " print bill invoice insist require take go use show display feature wear drive contain last allow permit limit cap handle process support carry operate"
    " return answer respond emit use accept arrive fly sail train compile build time drain cool rest charge heat power fuel fire"
)
# The value is the object or place, and only one can hold at a time.
PLACE_VERBS: Final = words(
    "live reside dwell work sit stand hang lie stay park locate situate station base host house store keep settle settle bank commute sleep"
    " listen report belong default resolve point deploy register license rent lease dock rest bind map forward route"
)
# As participles: "is licensed under", "is owned by".
PASSIVE_ONE: Final = PLACE_VERBS | words(
    "schedule plan set fix rate price value license publish name call title spell pronounce assign allocate rent lease own maintain manage"
    " marry insure power fuel fire heat write staff head lead run host chair deploy build time limit cap date label number"
)
# The value is a time: "opens at six".
TIME_VERBS: Final = words(
    "start begin open close end finish depart arrive leave land meet convene gather fall come reach expire run rotate refresh renew serve take"
    " ship deploy sample poll occur happen rehearse practise practice gather schedule plan set fix resume commence board dock"
)
# The agent is the value where the object stays: only one owns, leads, maintains.
AGENT_VERBS: Final = words("own maintain lead head chair manage captain run oversee direct supervise coordinate lease")
# A subject can have many at once; another value says nothing against the first.
MANY_VERBS: Final = words(
    "know speak like love enjoy play visit own have include support cover teach read watch sing bake collect attend study follow contain list name"
    " offer sell stock eat cook recommend invite see ask need want deliver handle fit write learn practise practice paint grow make create produce"
    " drink wear hate dislike understand remember tour travel share help join cite mention require sponsor supply"
)
PREFERENCE_VERBS: Final = words("prefer favour favor choose pick")

LIKE_VERBS: Final = words("like love enjoy adore appreciate relish welcome fancy cherish")
DISLIKE_VERBS: Final = words("dislike hate detest loathe despise resent abhor")

# Things that one subject has one of at a time.
ONE_NOUNS: Final = words(
    "address age altitude amount appointment area assignee authority balance bandwidth bank base basis birthday boss branch budget building capacity"
    " capital captain category ceiling ceo cfo chair chairman chairperson chairwoman champion channel chief city class coach code color colour commander"
    " commissioner concentration condition constraint contact coordinator coordinates cost count country currency date day deadline deductible default density depth destination"
    " diet director discount distance domain driver duration email employer encoding endpoint engine expiry extension favourite favorite fee file flavour"
    " floor folder font format frequency fuel gate gender goalkeeper governor grade head headcount headquarters height holder home host hostname hotline id identifier incumbent"
    " index interval job key kickoff label landlord language layout lead leader length level licence license limit location locker maintainer maker manager manufacturer margin mass mayor"
    " maximum mayor mentor minimum minister mode model mood name nationality nickname number office order organizer organiser origin owner package password path"
    " percentage period permission phase phone pin place plan plate platform point port portal position postcode power precision president pressure price principal priority profession"
    " proxy publisher quota quorum rank rate rating ratio record recipient region registrar renter responsible role room route runtime salary schedule score season seat secretary"
    " sensitivity server setting shift shipper sort speed spouse standing state station status stock store supervisor supplier surname target team temperature tenant"
    " tenure term theme threshold ticket time timeout timezone title tolerance total track treasurer type unit url user username vacancy value venue version visa voltage volume wage website weight"
    " width wife husband winner workplace year zone population episode episodes headmaster headmistress doctor dentist carrier courier insurer caretaker custodian chairperson stance verdict outcome result"
    " attendance turnout occupancy occupant renewal delivery pickup review meeting exam rehearsal inspection audit interview flight launch go-live release cutover standup call hearing wedding"
)
# Things that one subject can have several of.
MANY_NOUNS: Final = words(
    "ability acquaintance activity ad advantage advisor allergy alternative ancestor aunt award benefit bonus book brother bug buyer candidate cause challenge character child choice client"
    " colleague collaborator company competitor complaint component concern condiment consequence contributor course cousin creditor customer daughter dependency detail disadvantage dish dream drug duty"
    " effect element enemy error event example exception experience expert fan fear feature film finding flaw food friend game goal guest habit hero hobby idea ingredient instrument interest investor issue item"
    " job joke language lesson link liability manner medal member memory merit mistake movie neighbour neighbor nephew niece note novel objective opinion option owner parent part participant pastime patient person pet place player"
    " problem product project property pupil reader reason recipe reference regular relative requirement resident resource responsibility risk rival role rule sibling side sign singer sister skill song son source speciality specialty sport star step strength student"
    " subject subsidiary suggestion symptom talent task teammate thing tip tool topic trait treatment trip uncle use user value visitor volunteer way weakness win winner wish word worker"
)
# Scales on which a subject stands at one point at a time.
STATUS_SCALES: Final = tuple(
    words(line)
    for line in (
        "pending waiting queued scheduled planned ongoing running started done open closed approved accepted rejected declined refused draft final complete completed incomplete finished unfinished"
        " merged resolved unresolved blocked delayed postponed cancelled canceled confirmed unconfirmed paused suspended shipped delivered returned released unreleased deployed undeployed granted denied revoked",
        "active inactive suspended expired cancelled canceled",
        "enabled disabled",
        "up down online offline on off running stopped degraded operational",
        "open closed shut",
        "locked unlocked",
        "available unavailable free busy booked reserved occupied vacant taken",
        "full empty",
        "paid unpaid overdue due",
        "valid invalid expired",
        "ready unready",
        "broken working fixed repaired defective",
        "passing passed failed failing broken",
        "healthy unhealthy sick ill well",
        "red amber yellow green",
        "public private confidential",
        "married single divorced engaged widowed separated",
        "retired employed unemployed self-employed",
        "dead alive deceased",
        "present absent",
        "awake asleep",
        "cold cool warm hot",
        "connected disconnected",
        "deprecated supported maintained abandoned unsupported",
        "mandatory optional required",
        "forbidden allowed prohibited permitted banned",
        "legal illegal",
        "lost found missing",
        "signed unsigned",
        "live staged archived",
        "installed uninstalled",
        "true false",
        "yes no",
        "low medium high critical normal elevated",
        "pass fail",
        "stable unstable",
        "primary secondary standby leader follower",
        "early late",
        "encrypted unencrypted",
        "insured uninsured",
        "happy unhappy sad",
        "clean dirty",
        "safe unsafe",
        "daily weekly monthly quarterly yearly hourly",
    )
)


SAME_STATE: Final[dict[str, str]] = {
    word: group.split()[0]
    for group in [
        "done complete completed finished",
        "approved accepted granted",
        "rejected declined refused denied",
        "cancelled canceled",
        "shut closed",
        "fixed repaired",
        "broken defective",
        "allowed permitted legal",
        "forbidden prohibited banned illegal",
        "running ongoing started",
        "busy occupied taken booked reserved",
        "free vacant available",
        "sick ill unhealthy",
        "well healthy",
        "dead deceased",
        "unhappy sad",
        "amber yellow",
        "waiting pending queued",
        "passed pass passing",
        "failed fail failing",
        "incomplete unfinished",
        "delayed postponed",
        "on up online",
        "off down offline",
        "scheduled planned",
        "expired invalid",
        "overdue due",
        "suspended paused inactive",
        "mandatory required",
        "public released",
        "unpaid overdue",
    ]
    for word in group.split()
}
"""Words that name one state of a scale."""


def same_scale(one: set[str], other: set[str]) -> bool:
    """Return whether two sets of words are different points of one scale of states."""
    if not one or not other or {SAME_STATE.get(w, w) for w in one} & {SAME_STATE.get(w, w) for w in other}:
        return False
    return any(one <= scale and other <= scale for scale in STATUS_SCALES)


# Words after which a number or code names a thing and is no amount.
NAMING_NOUNS: Final = words(
    "pr mr issue ticket invoice order po batch lot step chapter lesson page section article rule clause figure table item point question answer task row column line bit day stop"
    " rack gate bay room hall dock door aisle shelf press pump node server host machine lathe forklift truck van bus train flight ferry tram lift elevator container pallet parcel valve reactor boiler kiln unit site"
    " ward bed suite apartment flat house building block floor grade class year group team shift sprint run probe sample test case build job commit branch migration revision sheet appendix annex volume part episode season game match round"
    " week quarter phase stage level tier zone sector track route channel station platform terminal courier driver locker seat box bin crate version release greenhouse warehouse depot store camera sensor"
)
# Naming nouns whose number can itself be the value of a state ("runs version 44", "listens on port 8080", "is on floor 2").
VALUE_NAMES: Final = words(
    "version release port level floor stage phase week page revision row zone tier platform gate room seat stop bay dock channel week locker grade season episode"
)

SHOWING_NOUNS: Final = words(
    "screen display sign billboard monitor banner poster marquee scoreboard noticeboard step line clause section paragraph article"
)
UNIT_WORDS: Final = words(
    "percent % euro euros dollar dollars pound pounds cent cents franc francs krone kroner yen rupee rupees usd eur gbp chf km kilometre kilometer"
    " mile metre meter cm centimetre centimeter mm millimetre millimeter inch foot feet yard m kg kilogram kilo gram g mg milligram tonne ton ounce"
    " litre liter millilitre milliliter ml l cup gallon hectare acre degree celsius fahrenheit kelvin watt kilowatt kwh volt amp hertz hz khz mhz ghz"
    " bit byte kb mb gb tb kilobyte megabyte gigabyte terabyte mbps gbps ms millisecond second minute hour day week fortnight month year decade"
    " thousand million billion dozen per rpm psi bar point"
)
TITLES: Final = words("mr mrs ms miss dr prof professor sir lady lord judge captain sister brother father")
GROUP_NOUNS: Final = words(
    "committee team board choir club list band council panel group staff crew cast jury union association league squad guild society"
    " network class community commission delegation trade press"
)
VAGUE_PLACES: Final = words("near by off along within outside against from next around beside")
PLACE_PREPOSITIONS: Final = words(
    "in at on under underneath beneath behind beside near inside over above below between within outside off next to from by against along"
)
NEGATORS: Final = words("not no never none nobody nothing nowhere neither nor without cannot n't hardly")
MODALS: Final = words("can could may might must shall should will would ought need cannot")
BE: Final = words("be is are am was were been being 's 're 'm")
HAVE: Final = words("have has had having 've")
DO: Final = words("do does did")
PAST_AUX: Final = words("was were had did")
DETERMINERS: Final = words(
    "a an the this that these those my your his her its our their some any each every all both no another"
)
ARTICLES: Final = words("a an the")
INDEFINITE: Final = words("a an some another someone somebody people few several many two three four five six one")
PREPOSITIONS: Final = words(
    "about above across after against along among around as at before behind below beneath beside between beyond by despite down during except for from in inside into like near of off on onto out outside over past per"
    " since through throughout till to toward towards under underneath until up upon via with within without than"
)
LEADING: Final = words(
    "in on at during before after since from for between throughout until till by when while with without outside inside under over up among once as within above below every each if unless whenever per because across nowadays today"
)
PRONOUNS: Final = words("i we you he she it they who which that whom")
CONJUNCTIONS: Final = words("and or but nor so yet plus")
LIGHT: Final = words(
    "a an the this that these those my your his her its our their is are am be been being was were do does did has have had having of to and or so then also just really very quite currently now nowadays today still already presently"
    " actually as it there 's 're 've 'm 'd 'll please well indeed overall generally currently"
)
# Times, weekdays and months: a value of a schedule, or the scope of a statement.
CALENDAR: Final = words(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays weekday weekdays weekend weekends january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sep sept oct nov dec morning afternoon evening night noon midnight midday daily weekly monthly yearly quarterly hourly annually biweekly nightly spring summer autumn fall winter"
    " hour hours minute minutes second seconds day days week weeks month months year years quarter quarters once twice past half o'clock am pm utc gmt cet est pst fortnight today tomorrow yesterday last second"
)
# A change here is another occasion or another group and not another value.
SCOPE_NOUNS: Final = words(
    "staging production development test testing weekday weekdays weekend weekends holiday holidays season term office home work school adult adults child children member members guest guests staff student students"
    " spring summer autumn fall winter morning mornings afternoon afternoons evening evenings night nights"
)
SUPERLATIVES: Final = words(
    "most least best worst first last latest newest oldest only sole main current present incumbent next primary chief favourite favorite preferred largest biggest smallest highest lowest longest shortest tallest"
    " fastest slowest youngest heaviest lightest recommended default official top record upcoming"
)

IRREGULAR: Final[dict[str, str]] = dict(
    pair.split(":")
    for pair in [
        "went:go",
        "gone:go",
        "came:come",
        "ran:run",
        "sat:sit",
        "stood:stand",
        "hung:hang",
        "lay:lie",
        "lain:lie",
        "left:leave",
        "met:meet",
        "fell:fall",
        "fallen:fall",
        "held:hold",
        "paid:pay",
        "drew:draw",
        "drawn:draw",
        "slept:sleep",
        "kept:keep",
        "read:read",
        "wrote:write",
        "written:write",
        "set:set",
        "rose:rise",
        "risen:rise",
        "took:take",
        "taken:take",
        "wore:wear",
        "worn:wear",
        "drove:drive",
        "driven:drive",
        "built:build",
        "made:make",
        "saw:see",
        "seen:see",
        "knew:know",
        "known:know",
        "spoke:speak",
        "spoken:speak",
        "sang:sing",
        "sung:sing",
        "ate:eat",
        "eaten:eat",
        "bought:buy",
        "sold:sell",
        "sent:send",
        "lost:lose",
        "won:win",
        "found:find",
        "gave:give",
        "given:give",
        "got:get",
        "gotten:get",
        "began:begin",
        "begun:begin",
        "broke:break",
        "broken:break",
        "chose:choose",
        "chosen:choose",
        "did:do",
        "done:do",
        "flew:fly",
        "flown:fly",
        "forgot:forget",
        "forgotten:forget",
        "grew:grow",
        "grown:grow",
        "heard:hear",
        "hid:hide",
        "hidden:hide",
        "led:lead",
        "lent:lend",
        "let:let",
        "said:say",
        "sought:seek",
        "shook:shake",
        "shot:shoot",
        "shut:shut",
        "spent:spend",
        "stole:steal",
        "stolen:steal",
        "swam:swim",
        "swum:swim",
        "taught:teach",
        "told:tell",
        "thought:think",
        "threw:throw",
        "thrown:throw",
        "understood:understand",
        "woke:wake",
        "cut:cut",
        "hit:hit",
        "put:put",
        "cost:cost",
        "quit:quit",
        "spread:spread",
        "split:split",
        "hurt:hurt",
        "became:become",
        "become:become",
        "brought:bring",
        "caught:catch",
        "felt:feel",
        "fought:fight",
        "had:have",
        "has:have",
        "dealt:deal",
        "swept:sweep",
        "bound:bind",
        "fed:feed",
        "bent:bend",
        "rang:ring",
        "rung:ring",
        "sank:sink",
    ]
)
# Verbs of no set cardinality, listed so that they are seen as verbs.
OTHER_VERBS: Final = words(
    "rehearse account accompany achieve act adapt add address adjust affect agree aim announce apply approach argue arrange ask assemble assess assist attach attempt average avoid back bear become behave believe block borrow bother"
    " break breed bring build burn buy calculate call care carry cast catch cause celebrate change check clean clear climb collaborate combine command commit compare compete complain complete compute concern conclude conduct confirm"
    " connect consider consist construct consult control convert convince coordinate copy correct count crash create cross cut damage date deal decide declare decline defend define delay delete demand deny describe deserve design"
    " destroy detect determine develop die differ disagree discover discuss divide do download draft draw drop earn edit eliminate email employ enable encourage enforce ensure enter establish estimate evaluate examine exceed exchange exist expand"
    " expect explain explore export express extend fail favour feed feel fight file finance find finish flow focus follow force form found fund gain gather generate get give give govern grant greet guarantee guard guess guide hand happen"
    " hear heat help hide hire hit hope hurt identify ignore imagine implement imply import improve inform inspect inspire install intend introduce invent invest investigate invoke issue judge jump keep kick kill knock lack land last laugh launch"
    " lay lean lend let link load lock log look lose lower mark match matter mean melt merge miss monitor move need note notice notify number obtain occur oppose order organize organise overlap overwrite paint parse perform phone pick place point"
    " post pour prepare present preserve prevent prohibit proceed program promise promote propose protect prove publish pull purchase push put raise range reach read realize realise recall receive record recover reduce refuse regard regret reject"
    " relate release rely remain remove rename render repair repeat replace reproduce request rescue research reserve resign resist restart restore restrict retain retire retry reveal review ride ring risk roll rush save scale scan score search"
    " seek seem select send separate set shake shape shoot shut sign sing sink skip slide smell smile smoke solve sound spend split spread stage steal step stick stop stream strengthen stretch strike struggle submit succeed suffer suggest suit supply"
    " suspect swim switch tackle talk taste tell test thank think throw tie touch trace track trade train transfer transform translate treat trigger trust try turn type update upgrade upload upset vary view violate volunteer vote wait wake walk want"
    " warn wash waste watch weaken welcome win wipe wish wonder work worry wrap yield abort allow forbid permit bans ban deactivate disable expose fetch halt index ingest initialise initialize invalidate lint migrate mount override patch ping provision"
    " proxy query queue redirect rotate route sanitize seed serialise serialize shard spawn stall sync terminate throttle timeout trim validate wrap crash reopen postpone cancel reschedule relocate switch bake bury chase chop clap comb dance dig"
    " enjoy fold juggle kneel knit lick lift peel perform pet play pour race ride roll row shred skate ski slice splash stare stir strum swing tear toss wade weep"
    " approve reject withdraw visit invite attend weigh wrap abandon abolish discontinue drop give grow treat fly prove refer reply respond"
    " introduce deal name pass tick train compete hope mean prepare adopt acquire inherit graduate enrol enroll publish subscribe vaccinate volunteer donate gift present rate"
)
MONTHS: Final = words(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec"
)
VERBS: Final = (
    ONE_VERBS
    | AGENT_VERBS
    | MANY_VERBS
    | PREFERENCE_VERBS
    | LIKE_VERBS
    | DISLIKE_VERBS
    | OTHER_VERBS
    | PLACE_VERBS
    | TIME_VERBS
)
