"""The curated core of every synthetic cohort: common hospital codes and clinically obvious links.

Three tables as text. Codes are sorted from common to rare; after a code come its theme, whether it is acute or chronic,
and a reminder of its meaning (titles come from the dictionary).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

DELIVERY, NEWBORN = "delivery", "newborn"


class CoreDiagnosis(NamedTuple):
    """A curated diagnosis: the theme it belongs to, and whether it calls for procedures."""

    code: str
    theme: str
    acute: bool


class CoreLink(NamedTuple):
    """A curated link. Weights only compare the diagnoses that share a procedure."""

    diagnosis: str
    procedure: str
    weight: float


@cache
def core_diagnoses() -> tuple[CoreDiagnosis, ...]:
    """Curated diagnoses, from common to rare."""
    rows = (line.split()[:3] for line in _DIAGNOSES.strip().splitlines())
    return tuple(CoreDiagnosis(code, theme, nature == "acute") for code, theme, nature in rows)


@cache
def core_procedures() -> tuple[str, ...]:
    """Curated procedures, from common to rare."""
    return tuple(line.split()[0] for line in _PROCEDURES.strip().splitlines())


@cache
def core_links() -> tuple[CoreLink, ...]:
    """Curated links."""
    links = []
    for line in _LINKS.strip().splitlines():
        diagnosis, *targets = line.split()
        for target in targets:
            procedure, _, weight = target.partition("*")
            links.append(CoreLink(diagnosis, procedure, float(weight or 1)))
    return tuple(links)


_DIAGNOSES = """
4019   circulation  chronic  hypertension
2724   metabolism   chronic  hyperlipidemia
4280   circulation  acute    congestive heart failure
42731  circulation  chronic  atrial fibrillation
41401  circulation  acute    coronary atherosclerosis
5849   kidneys      acute    acute kidney failure
25000  metabolism   chronic  diabetes
51881  lungs        acute    acute respiratory failure
53081  digestion    chronic  reflux
2859   blood        acute    anemia
5990   infection    acute    urinary tract infection
2449   metabolism   chronic  hypothyroidism
486    lungs        acute    pneumonia
0389   infection    acute    septicemia
V3000  newborn      acute    liveborn, no cesarean
V270   delivery     acute    single liveborn outcome
3051   mind         chronic  tobacco use
496    lungs        chronic  obstructive airways
2851   blood        acute    anemia after bleeding
2762   metabolism   acute    acidosis
99592  infection    acute    severe sepsis
311    mind         chronic  depression
5859   kidneys      chronic  chronic kidney disease
V053   newborn      acute    hepatitis vaccination
66411  delivery     acute    perineal laceration, second degree
412    circulation  chronic  old infarction
2761   metabolism   acute    hyponatremia
78552  infection    acute    septic shock
5119   lungs        acute    pleural effusion
40390  kidneys      chronic  hypertensive kidney disease
2767   metabolism   acute    hyperkalemia
41071  circulation  acute    subendocardial infarction
5070   lungs        acute    aspiration pneumonitis
27651  metabolism   acute    dehydration
5856   kidneys      acute    end stage renal disease
V4581  circulation  chronic  bypass status
4241   circulation  acute    aortic valve disorder
2875   blood        acute    thrombocytopenia
V3001  newborn      acute    liveborn by cesarean
V290   newborn      acute    observation for infection
650    delivery     acute    normal delivery
65421  delivery     acute    previous cesarean
5789   digestion    acute    gastrointestinal bleeding
43491  nerves       acute    stroke by occlusion
71536  bones        acute    osteoarthrosis, leg
32723  lungs        chronic  sleep apnea
4240   circulation  acute    mitral valve disorder
27800  metabolism   chronic  obesity
49390  lungs        chronic  asthma
30000  mind         chronic  anxiety
82021  injury       acute    hip fracture, intertrochanteric
V4582  circulation  chronic  coronary stent status
9971   injury       acute    cardiac complication
5770   digestion    acute    acute pancreatitis
57400  digestion    acute    gallstones with acute cholecystitis
4275   circulation  acute    cardiac arrest
49121  lungs        acute    bronchitis flare
7742   newborn      acute    jaundice of prematurity
2760   metabolism   acute    hypernatremia
2948   mind         chronic  dementia
30390  mind         chronic  alcohol dependence
5712   digestion    chronic  alcoholic cirrhosis
72402  bones        acute    lumbar stenosis
78039  nerves       acute    convulsions
5409   digestion    acute    appendicitis
71535  bones        acute    osteoarthrosis, hip
431    nerves       acute    intracerebral hemorrhage
5180   lungs        acute    pulmonary collapse
4271   circulation  acute    ventricular tachycardia
65971  delivery     acute    fetal heart rate abnormal
66401  delivery     acute    perineal laceration, first degree
V502   newborn      acute    circumcision
769    newborn      acute    respiratory distress syndrome
6826   infection    acute    cellulitis of leg
99859  injury       acute    postoperative infection
41519  lungs        acute    pulmonary embolism
45341  circulation  acute    deep vein thrombosis
42732  circulation  acute    atrial flutter
42741  circulation  acute    ventricular fibrillation
4260   circulation  acute    complete heart block
2749   bones        chronic  gout
73300  bones        chronic  osteoporosis
7140   bones        chronic  rheumatoid arthritis
4439   circulation  chronic  peripheral vascular disease
44024  circulation  acute    gangrene of extremities
70703  infection    acute    pressure ulcer, lower back
34590  nerves       chronic  epilepsy
3320   nerves       chronic  Parkinson's disease
3310   nerves       chronic  Alzheimer's disease
430    nerves       acute    subarachnoid hemorrhage
4321   nerves       acute    subdural hemorrhage
85221  injury       acute    traumatic subdural hemorrhage
56081  digestion    acute    obstruction by adhesions
56211  digestion    acute    diverticulitis
53240  digestion    acute    bleeding duodenal ulcer
78959  digestion    acute    ascites
00845  infection    acute    Clostridium difficile
51289  lungs        acute    pneumothorax
27801  metabolism   acute    morbid obesity
25013  metabolism   acute    diabetic ketoacidosis
72210  bones        acute    lumbar disc displacement
82009  injury       acute    hip fracture, femoral neck
82382  injury       acute    fracture of tibia and fibula
80704  injury       acute    four broken ribs
99811  injury       acute    bleeding after a procedure
29181  mind         acute    alcohol withdrawal
29633  mind         acute    severe recurrent depression
2930   mind         acute    delirium
V5811  blood        acute    chemotherapy
1533   blood        acute    cancer of sigmoid colon
1623   blood        acute    cancer of upper lobe
1983   blood        acute    metastasis to brain
1985   blood        chronic  metastasis to bone
20300  blood        chronic  multiple myeloma
64511  delivery     acute    post-term pregnancy
65811  delivery     acute    premature rupture of membranes
65221  delivery     acute    breech
V252   delivery     acute    sterilization
64821  delivery     chronic  anemia in pregnancy
64881  delivery     chronic  glucose intolerance in pregnancy
65961  delivery     chronic  elderly multigravida
7746   newborn      acute    neonatal jaundice
7706   newborn      acute    transitory tachypnea
7756   newborn      acute    neonatal hypoglycemia
77081  newborn      acute    apnea of newborn
76528  newborn      chronic  35 to 36 weeks
76518  newborn      chronic  preterm, 2,000 to 2,499 grams
"""

_PROCEDURES = """
3893  venous catheter
9604  intubation
9904  transfusion of packed cells
9671  ventilation under 96 hours
966   tube feeding
3722  left heart catheterization
8856  coronary arteriography
3961  heart-lung machine
9672  ventilation of 96 hours or more
9955  vaccine
3995  hemodialysis
8872  cardiac ultrasound
3891  arterial catheter
3615  single mammary bypass
4513  upper endoscopy
9915  parenteral nutrition
3895  dialysis catheter
0066  coronary angioplasty
3324  bronchoscopic biopsy
9907  transfusion of serum
3491  thoracentesis
7359  assisted delivery
7569  repair of obstetric laceration
9983  phototherapy
3607  drug-eluting stent
3612  two-vessel bypass
0017  vasopressor
9390  non-invasive ventilation
9960  resuscitation
8154  knee replacement
3404  chest tube
5491  paracentesis
741   low cervical cesarean
7935  fixation of femur
640   circumcision
9905  platelets
5123  laparoscopic cholecystectomy
3521  aortic valve, tissue
311   tracheostomy
4311  gastrostomy
8841  cerebral arteriography
8914  electroencephalogram
4523  colonoscopy
8151  hip replacement
9910  thrombolysis
9462  alcohol detoxification
8604  incision of skin
8622  wound debridement
4701  laparoscopic appendectomy
734   medical induction of labor
7534  fetal monitoring
9962  defibrillation
9961  atrial cardioversion
3794  defibrillator implant
3783  dual-chamber pacemaker
387   vena cava filter
0131  incision of meninges
8108  lumbar fusion
8051  disc excision
8152  partial hip replacement
7936  fixation of tibia
9925  chemotherapy infusion
3524  mitral valve replacement
4443  endoscopic control of bleeding
5185  endoscopic sphincterotomy
4576  sigmoidectomy
5459  lysis of adhesions
3241  thoracoscopic lobectomy
4438  laparoscopic gastroenterostomy
8415  below-knee amputation
9427  electroshock
9229  radiotherapy
6632  tubal ligation
9917  insulin
"""

_LINKS = """
5856   3995*9 3895*4
5849   3995*1 3895*1
4275   9960*9 9962*2
42741  9962*6 3794*4
4271   3794*3
4260   3783*9
42732  9961*9
51881  9604*5 9671*6 9672*5 311*4
5070   9604*1 966*3 4311*2
486    9671*1 3324*4
0389   3893*3 9915*1
99592  3893*2 9672*1
78552  0017*9 3893*3 3891*4
41401  3722*4 8856*5 3615*5 3612*5 3961*3
41071  3722*3 8856*3 0066*6 3607*6
4280   8872*4 9390*1
4241   3521*9 3961*4
4240   3524*9 3961*3
5119   3491*9 3404*1
51289  3404*6
80704  3404*2
49121  9390*4
2859   9904*2
2851   9904*4
2875   9905*9
5789   4513*5 4523*5 9904*1
53240  4443*8 4513*2
78959  5491*9
5770   5185*6 966*1
57400  5123*9
5409   4701*9
56081  5459*9
56211  4576*4
1533   4576*6
1623   3241*9
1983   9229*7
V5811  9925*9
43491  9910*7 4311*2 8841*2
430    8841*6
431    8841*2 311*1
4321   0131*5
85221  0131*6
78039  8914*9
41519  387*5
45341  387*5
82021  7935*9
82009  8152*8 7935*1
82382  7936*9
71536  8154*9
71535  8151*9
72402  8108*7
72210  8051*9
6826   8604*6
70703  8622*5
99859  8604*2 8622*3
44024  8415*9
99811  9907*3 9904*1
29181  9462*9
29633  9427*9
25013  9917*9
27801  4438*9
650    7359*9
66411  7569*6
66401  7569*3
65421  741*5
65221  741*4
65971  7534*5 741*1
64511  734*5
65811  734*4
V252   6632*9
V053   9955*9
V502   640*9
7742   9983*5
7746   9983*4
769    9604*2 9672*1 9390*1
7706   9390*1
"""
